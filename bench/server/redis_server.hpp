// A Redis that keeps nothing on disk, on a free port of 127.0.0.1 and on a Unix socket.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::bench {

class redis_server {
 public:
  // Returns when it answers. Throws std::runtime_error with its output if it does not.
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

}  // namespace conclave::bench
