#include "driver/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace conclave::bench {
namespace {

constexpr const char* figure_word = "figure";
constexpr const char* any_cpu = "any";

// Longer than all limits of a worker together, so that the worker itself can report an error.
constexpr auto process_limit = 4 * time_limit;
constexpr auto answer_limit = 2 * time_limit;

void check(int result, const char* what) {
  if (result != 0) throw std::system_error(errno, std::generic_category(), what);
}

cpu_set_t only(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  return set;
}

// A thread may end during the call. This is not an error.
void set_all_threads(pid_t pid, const cpu_set_t& set) {
  std::error_code gone;
  const auto tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, gone))
    ::sched_setaffinity(std::stoi(task.path().filename().string()), sizeof set, &set);
}

// Opens the pipe in both directions, so that open() does not block and no side sees it closed.
int make_pipe(const std::filesystem::path& file) {
  int pipe = -1;
  if (::mkfifo(file.c_str(), 0600) == 0)
    pipe = ::open(file.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (pipe < 0) throw std::system_error(errno, std::generic_category(), file.string());
  return pipe;
}

figures figures_in(const std::string& output) {
  figures result;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    std::string name;
    double value = 0;
    if (words >> word >> name >> value && word == figure_word) result[name] = value;
  }
  if (result.empty()) throw std::runtime_error("a worker printed no figures:\n" + output);
  return result;
}

}  // namespace

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string value_after(std::istream& text, const std::string& name, char separator) {
  for (std::string line; std::getline(text, line);) {
    const auto end = line.find(separator);
    if (!line.starts_with(name) || end == std::string::npos) continue;
    const auto begin = line.find_first_not_of(" \t", end + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return "unknown";
}

std::string output_of(const std::vector<std::string>& command, std::chrono::seconds limit) {
  const testing::temporary_directory folder;
  testing::child_options options(command);
  options.output = folder.path() / "output";
  testing::child_process process(options);
  const auto status = process.wait(limit);
  auto text = text_of(options.output);
  if (!status) throw std::runtime_error(command.front() + " did not end in time:\n" + text);
  if (status->code != 0) throw std::runtime_error(command.front() + " failed:\n" + text);
  return text;
}

std::size_t allow_many_descriptors() {
  rlimit limit{};
  check(::getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
  limit.rlim_cur = limit.rlim_max;
  check(::setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
  return limit.rlim_max;
}

int last_allowed_cpu() {
  cpu_set_t set;
  check(::sched_getaffinity(0, sizeof set, &set), "sched_getaffinity");
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0; --cpu)
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) return cpu;
  throw std::runtime_error("this process is not permitted to use any core");
}

void pin_this_process(int cpu) {
  const auto set = only(cpu);
  check(::sched_setaffinity(0, sizeof set, &set), "sched_setaffinity");
}

pinned_process::pinned_process(pid_t pid, int cpu) : pid_(pid) {
  check(::sched_getaffinity(pid, sizeof before_, &before_), "sched_getaffinity");
  set_all_threads(pid, only(cpu));
  set_all_threads(pid, only(cpu));  // again, for threads that were created during the first pass
}

pinned_process::~pinned_process() {
  set_all_threads(pid_, before_);
  set_all_threads(pid_, before_);
}

std::vector<std::string> worker_command(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{std::filesystem::read_symlink("/proc/self/exe").string(),
                                   worker_option};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

std::string to_argument(std::optional<int> cpu) { return cpu ? std::to_string(*cpu) : any_cpu; }

std::optional<int> cpu_from_argument(const std::string& argument) {
  return argument == any_cpu ? std::nullopt : std::optional(std::stoi(argument));
}

std::string run_worker_process(const std::vector<std::string>& arguments,
                               std::vector<std::string> wrapper) {
  const auto worker = worker_command(arguments);
  wrapper.insert(wrapper.end(), worker.begin(), worker.end());
  return output_of(wrapper, process_limit);
}

figures measure_in_worker(const std::vector<std::string>& arguments) {
  return figures_in(run_worker_process(arguments));
}

void print_figures(const figures& found) {
  for (const auto& [name, value] : found)
    std::printf("%s %s %.9g\n", figure_word, name.c_str(), value);
}

worker_process::worker_process(const std::vector<std::string>& command, std::optional<int> cpu) {
  const auto commands = folder_.path() / "commands";
  const auto answers = folder_.path() / "answers";
  to_ = make_pipe(commands);
  from_ = make_pipe(answers);
  std::vector<std::string> all{"/bin/sh", "-c",     "in=$1 out=$2; shift 2; exec \"$@\" <$in >$out",
                               "sh",      commands, answers};
  all.insert(all.end(), command.begin(), command.end());
  testing::child_options options(std::move(all));
  options.output = folder_.path() / "errors";
  process_.emplace(options);
  if (cpu) pin_.emplace(process_->pid(), *cpu);
}

worker_process::~worker_process() {
  ::close(to_);
  ::close(from_);
}

void worker_process::send(const std::string& line) {
  const auto text = line + '\n';
  if (::write(to_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    fail("does not read its commands");
}

std::string worker_process::receive(const std::string& expected) {
  auto line = receive_line();
  if (!line.starts_with(expected)) fail("answers '" + line + "' instead of '" + expected + "'");
  return line.substr(expected.size());
}

std::string worker_process::receive_line() {
  const auto deadline = std::chrono::steady_clock::now() + answer_limit;
  for (;;) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      auto line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    if (!process_->running()) fail("has ended");
    if (std::chrono::steady_clock::now() > deadline) fail("does not answer");
    pollfd readable{from_, POLLIN, 0};
    constexpr int check_process_every_ms = 200;
    if (::poll(&readable, 1, check_process_every_ms) <= 0) continue;
    char bytes[256];
    const auto n = ::read(from_, bytes, sizeof bytes);
    if (n > 0) unread_.append(bytes, static_cast<std::size_t>(n));
  }
}

void worker_process::fail(const std::string& what) {
  throw std::runtime_error("a worker " + what + ":\n" + text_of(folder_.path() / "errors"));
}

}  // namespace conclave::bench
