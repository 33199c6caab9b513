// The processes of a benchmark: workers and other programs, their cores and their output.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "driver/results.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::bench {

// The limit for each single wait of a worker.
inline constexpr std::chrono::seconds time_limit{60};

// Returns the content of a file, or an empty string if the file does not exist.
std::string text_of(const std::filesystem::path& file);

// Returns the text after the separator in the first line that begins with the name, or "unknown".
std::string value_after(std::istream& text, const std::string& name, char separator);

// Runs a command and returns its standard output and standard error. Throws std::runtime_error with
// this output if the command fails or takes too long.
std::string output_of(const std::vector<std::string>& command, std::chrono::seconds limit);

// Raises the soft limit on open descriptors of this process to the hard limit, which it returns.
// Processes that it starts later inherit the limit.
std::size_t allow_many_descriptors();

// --- Cores ---

// Returns the last core that this process may use. The first cores often handle interrupts.
int last_allowed_cpu();

// Call before the process creates threads. New threads inherit the core.
void pin_this_process(int cpu);

// Pins all threads of another process, and threads that they create, to one core. The destructor
// removes the restriction.
class pinned_process {
 public:
  pinned_process(pid_t pid, int cpu);
  ~pinned_process();
  pinned_process(const pinned_process&) = delete;
  pinned_process& operator=(const pinned_process&) = delete;

 private:
  pid_t pid_;
  cpu_set_t before_;
};

// --- Workers: this program, started with worker_option ---

inline constexpr const char* worker_option = "--worker";

// Returns the command line of a worker with these arguments.
std::vector<std::string> worker_command(const std::vector<std::string>& arguments);

// Converts a core to an argument of a worker.
std::string to_argument(std::optional<int> cpu);
std::optional<int> cpu_from_argument(const std::string& argument);

// Runs one round in a new worker and returns the output of the worker. With a separate process for
// each round, the CPU time is that of one variant, and no round inherits threads or a heap from an
// earlier round. `wrapper` is a tracer or profiler with its options.
std::string run_worker_process(const std::vector<std::string>& arguments,
                               std::vector<std::string> wrapper = {});
// The same for a worker that prints its figures as lines: "figure NAME VALUE".
figures measure_in_worker(const std::vector<std::string>& arguments);
void print_figures(const figures& found);

// A worker that runs during the whole benchmark, so that Java's compilers have finished before the
// measured rounds. It reads commands from standard input and writes replies to standard output, one
// per line.
class worker_process {
 public:
  // If a core is given, pins all threads of the worker to it.
  worker_process(const std::vector<std::string>& command, std::optional<int> cpu);
  ~worker_process();
  worker_process(const worker_process&) = delete;
  worker_process& operator=(const worker_process&) = delete;

  pid_t pid() const { return process_->pid(); }
  void send(const std::string& line);
  // Reads the next line of output, which must begin with `expected`, and returns the rest of the
  // line. Throws std::runtime_error with the standard error of the worker if the worker ends,
  // prints a different line, or prints nothing in time.
  std::string receive(const std::string& expected);

 private:
  std::string receive_line();
  [[noreturn]] void fail(const std::string& what);

  testing::temporary_directory folder_;
  int to_{-1};
  int from_{-1};
  std::string unread_;
  std::optional<testing::child_process> process_;
  std::optional<pinned_process> pin_;
};

}  // namespace conclave::bench
