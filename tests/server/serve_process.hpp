// `conclave serve` in a separate process with a temporary folder.
//
//   serve_process server{{"--listen", "0"}};
//   client zk{server.socket()};
//
// By default, the data is in folder()/data and the socket is folder()/data/socket, also with
// --durability none. The constructor returns when the server has printed that it is ready.
// Otherwise it throws std::runtime_error with the output. The destructor kills the server.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::testing {

using argument_list = std::vector<std::string>;

std::string read_file(const std::filesystem::path& file);

// The exit status and the output of a program.
struct finished_run {
  exit_status status;
  std::string text;
  bool contains(std::string_view part) const { return text.find(part) != std::string::npos; }
};

// Runs `conclave` with these arguments, through `launcher` (setpriv, nsenter, ...) if there is one.
// Throws std::runtime_error if it does not end.
finished_run run_conclave(argument_list arguments, argument_list launcher = {},
                          std::chrono::milliseconds limit = std::chrono::seconds{30});

class serve_process {
 public:
  explicit serve_process(argument_list arguments = {}, argument_list launcher = {});
  ~serve_process();
  serve_process(const serve_process&) = delete;
  serve_process& operator=(const serve_process&) = delete;

  const std::filesystem::path& folder() const noexcept { return folder_.path(); }
  std::filesystem::path data() const { return folder() / "data"; }

  // The addresses in the ready line.
  const std::vector<std::string>& addresses() const noexcept { return addresses_; }
  std::string tcp() const;                      // the first address, "127.0.0.1:PORT"
  std::uint16_t port(std::size_t n = 0) const;  // of the n-th address
  std::string socket() const;                   // "unix:PATH"
  std::filesystem::path socket_file() const;

  pid_t pid() const { return process_->pid(); }
  bool running() { return process_ && process_->running(); }
  void signal(int number) { process_->kill(number); }
  void pause() { process_->pause(); }
  void resume() { process_->resume(); }

  void kill();  // SIGKILL, and waits for the end
  // Waits until the server has ended by itself or after signal().
  std::optional<exit_status> wait(std::chrono::milliseconds limit = std::chrono::seconds{30});
  exit_status terminate();  // SIGTERM, and waits for the end
  // Starts the server again, with the same or with other arguments.
  void start_again();
  void start_again(argument_list arguments);

  std::string output() const;  // the standard output and the log of all starts
  // Waits until the output contains this. Returns false on a timeout.
  bool prints(std::string_view part, std::chrono::milliseconds limit = std::chrono::seconds{30});

  std::size_t resident_kilobytes() const;       // now
  std::size_t most_resident_kilobytes() const;  // maximum
  std::chrono::milliseconds cpu_time() const;
  std::size_t open_descriptors() const;

 private:
  void start();
  std::size_t status_line(std::string_view name) const;

  temporary_directory folder_;
  argument_list arguments_;
  argument_list launcher_;
  std::vector<std::string> addresses_;
  std::unique_ptr<child_process> process_;
};

}  // namespace conclave::testing
