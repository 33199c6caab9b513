// `conclave serve` as a server of benchmarks.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::bench {

// `conclave serve`, or another command that behaves like it. Each function that starts it returns
// when the server is ready, and throws std::runtime_error with its output if it ends or takes too
// long. The destructor ends the server.
class conclave_server {
 public:
  // Data goes to a temporary folder. `socket` is a path to listen at, too; empty: none.
  conclave_server(std::vector<std::string> command, const std::string& durability,
                  const std::filesystem::path& socket = {},
                  const std::vector<std::string>& more_arguments = {});
  ~conclave_server();
  conclave_server(const conclave_server&) = delete;
  conclave_server& operator=(const conclave_server&) = delete;

  pid_t pid() const { return process_->pid(); }
  const std::string& connect_string() const { return connect_string_; }
  const std::string& socket_string() const { return socket_string_; }  // empty: there is none
  std::filesystem::path data_directory() const { return folder_.path() / "data"; }

  // SIGTERM, and waits for the end.
  void stop();
  // Starts the stopped server with the same data, on another port.
  void start_again();

 private:
  void start();
  void await_ready();
  bool read_ready_line();
  [[noreturn]] void fail(const std::string& what) const;

  testing::temporary_directory folder_;
  std::vector<std::string> command_;
  std::unique_ptr<testing::child_process> process_;
  std::string connect_string_;
  std::string socket_string_;
};

}  // namespace conclave::bench
