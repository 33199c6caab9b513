// `conclave serve` as a process of its own, in a temporary folder, and what can be seen of it from
// outside.
//
//   serve_process server{{"--listen", "0"}};
//   client zk{server.socket()};
//
// Unless the arguments say otherwise, the data are in folder()/data and the socket is
// folder()/data/socket, also with --durability none. The constructor returns when the server has
// said that it is ready, and throws std::runtime_error with what it said otherwise. The destructor
// kills it.
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

// A program that ends by itself, and what it said.
struct finished_run {
  exit_status status;
  std::string text;
  bool says(std::string_view part) const { return text.find(part) != std::string::npos; }
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

  // As the ready line gave them.
  const std::vector<std::string>& addresses() const noexcept { return addresses_; }
  std::string tcp() const;                      // the first of them; "127.0.0.1:PORT"
  std::uint16_t port(std::size_t n = 0) const;  // of the n-th address
  std::string socket() const;                   // "unix:PATH"
  std::filesystem::path socket_file() const;

  pid_t pid() const { return process_->pid(); }
  bool running() { return process_ && process_->running(); }
  void signal(int number) { process_->kill(number); }
  void pause() { process_->pause(); }
  void resume() { process_->resume(); }

  void kill();  // SIGKILL, and waits for the end
  // The status once it has ended by itself, or by signal().
  std::optional<exit_status> wait(std::chrono::milliseconds limit = std::chrono::seconds{30});
  exit_status terminate();  // SIGTERM, and waits for the end
  // Also with other arguments.
  void start_again();
  void start_again(argument_list arguments);

  std::string output() const;  // of all starts: what it printed and what it logged
  // Waits until it has printed this; false if it does not.
  bool prints(std::string_view part, std::chrono::milliseconds limit = std::chrono::seconds{30});

  std::size_t resident_kilobytes() const;       // now
  std::size_t most_resident_kilobytes() const;  // ever
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
