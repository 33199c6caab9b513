// The servers that are compared. The constructor returns when the server is ready. It throws
// std::runtime_error with the server's output if the server exits or takes too long. The destructor
// stops the server.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"
#include "support/zookeeper_options.hpp"

namespace conclave::bench {

// A Redis without persistence, on a free port of 127.0.0.1 and on a Unix socket.
class redis_server {
 public:
  explicit redis_server(const std::filesystem::path& socket);
  redis_server(const redis_server&) = delete;
  redis_server& operator=(const redis_server&) = delete;

  pid_t pid() const { return process_->pid(); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string socket_address() const { return "unix:" + socket_.string(); }

  static std::string version();  // of the server and of hiredis

 private:
  testing::temporary_directory folder_;
  std::filesystem::path socket_;
  std::uint16_t port_;
  std::unique_ptr<testing::child_process> process_;
};

// Apache ZooKeeper as in production: durable, and with an ordinary JVM.
testing::zookeeper_options apache_options();

}  // namespace conclave::bench
