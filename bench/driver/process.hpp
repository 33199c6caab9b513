// Processes of a benchmark: workers and other programs, the cores they run on, what they print.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "driver/results.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::bench {

// No single wait of a worker takes longer than this.
inline constexpr std::chrono::seconds time_limit{60};

// All of a file; empty if there is none.
std::string text_of(const std::filesystem::path& file);

// The text behind the separator in the first line that begins with the name; otherwise "unknown".
std::string value_after(std::istream& text, const std::string& name, char separator);

// Standard output and standard error of a command that must succeed. Throws std::runtime_error with
// that output if the command fails or takes too long.
std::string output_of(const std::vector<std::string>& command, std::chrono::seconds limit);

// --- Cores ---

// The last core this process may use: the first ones tend to serve interrupts.
int last_allowed_cpu();

// For a process without threads; those that it creates later inherit the core.
void pin_this_process(int cpu);

// Keeps all threads of another process, and those they create, on one core while this object lives.
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

// The command line of a worker with these arguments.
std::vector<std::string> worker_command(const std::vector<std::string>& arguments);

// A core as an argument of a worker.
std::string to_argument(std::optional<int> cpu);
std::optional<int> cpu_from_argument(const std::string& argument);

// A worker that runs one round and ends. A process for each round makes its CPU time that of one
// variant alone, and no round finds the threads or the heap of the round before. `wrapper` is a
// tracer or profiler with its options. Returns what the worker printed.
std::string run_worker_process(const std::vector<std::string>& arguments,
                               std::vector<std::string> wrapper = {});
// Its figures come as lines of standard output: "figure NAME VALUE".
figures measure_in_worker(const std::vector<std::string>& arguments);
void print_figures(const figures& found);

// A worker that stays for the whole benchmark, so that Java's compilers have finished when rounds
// are measured. It reads commands from standard input and answers on standard output, a line each.
class worker_process {
 public:
  // With a core, all its threads stay on that one.
  worker_process(const std::vector<std::string>& command, std::optional<int> cpu);
  ~worker_process();
  worker_process(const worker_process&) = delete;
  worker_process& operator=(const worker_process&) = delete;

  void send(const std::string& line);
  // The rest of the next line of its output, which has to begin with `expected`. Throws
  // std::runtime_error with its standard error if it ends, or prints another line or none in time.
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
