// The servers that are compared. A constructor returns when the server is ready, and throws
// std::runtime_error with its output if it ends or takes too long. The destructor ends the server.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"
#include "support/zookeeper_options.hpp"

namespace conclave::bench {

// `conclave serve`, or another command that behaves like it.
class conclave_server {
 public:
  // Data goes to a temporary folder. `socket` is a path to listen at, too; empty: none.
  conclave_server(std::vector<std::string> command, const std::string& durability,
                  const std::filesystem::path& socket = {});
  ~conclave_server();
  conclave_server(const conclave_server&) = delete;
  conclave_server& operator=(const conclave_server&) = delete;

  pid_t pid() const { return process_->pid(); }
  const std::string& connect_string() const { return connect_string_; }
  const std::string& socket_string() const { return socket_string_; }  // empty: there is none

 private:
  void await_ready();
  bool read_ready_line();
  [[noreturn]] void fail(const std::string& what) const;

  testing::temporary_directory folder_;
  std::unique_ptr<testing::child_process> process_;
  std::string connect_string_;
  std::string socket_string_;
};

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

// Apache ZooKeeper as it runs in production: durable, and with an ordinary JVM.
testing::zookeeper_options apache_options();

}  // namespace conclave::bench
