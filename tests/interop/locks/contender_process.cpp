#include "contender_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace conclave::testing {
namespace {

std::vector<std::string> program(library l) {
  switch (l) {
    case library::conclave: return {LOCK_CONTENDER};
    case library::kazoo: return {"/usr/bin/python3", KAZOO_CONTENDER};
    case library::curator:
    case library::zookeeper: break;
  }
  return {JAVA,
          "-Xmx128m",
          "-XX:+UseSerialGC",
          "-XX:TieredStopAtLevel=1",
          "-XX:-UsePerfData",
          "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
          "-cp",
          CLASS_PATH,
          "conclave.interop.locks.LockContender"};
}

std::int64_t now() {
  return std::chrono::nanoseconds{std::chrono::steady_clock::now().time_since_epoch()}.count();
}

hold_mode mode_named(const std::string& name) {
  if (name == "exclusive") return hold_mode::exclusive;
  if (name == "shared") return hold_mode::shared;
  if (name == "lease") return hold_mode::lease;
  throw std::runtime_error{"no such mode in a history: " + name};
}

}  // namespace

const char* name_of(library l) {
  switch (l) {
    case library::conclave: return "conclave";
    case library::curator: return "curator";
    case library::zookeeper: return "zookeeper";
    case library::kazoo: return "kazoo";
  }
  return "";
}

layout layout_of(library l) {
  if (l == library::kazoo) return layout::kazoo();
  return l == library::zookeeper ? layout::zookeeper() : layout::curator();
}

contender_process::contender_process(library l, const contest& c) : library_{l} {
  const auto history = folder_.path() / "history";
  // A pipe, so that the test can wait for lines. Opened for reading and writing, so that reading
  // does not reach the end of the file.
  if (::mkfifo(history.c_str(), 0600) != 0) throw std::runtime_error{"mkfifo failed"};
  pipe_ = ::open(history.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (pipe_ < 0) throw std::runtime_error{"cannot open " + history.string()};
  auto counter = c.counter;
  if (counter.empty()) {
    counter = folder_.path() / "counter";
    std::ofstream{counter} << 0;
  }
  auto argv = program(l);
  for (const auto& word :
       {shared_server().connect_string(), c.path, c.kinds, c.layout_name, std::to_string(c.cycles),
        c.hold, history.string(), counter.string(), std::to_string(c.session_timeout.count())})
    argv.push_back(word);
  child_options options{std::move(argv)};
  options.output = folder_.path() / "output";
  process_.emplace(options);
}

contender_process::~contender_process() {
  if (::testing::Test::HasFailure())
    std::cerr << "output of " << name_of(library_) << ":\n" << output() << '\n';
  ::close(pipe_);
}

std::optional<std::int64_t> contender_process::acquired(std::chrono::nanoseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (const auto line = next_line(end - std::chrono::steady_clock::now())) {
    note(*line);
    if (line->starts_with("acquired")) return history_.back().acquired;
  }
  return std::nullopt;
}

bool contender_process::reported() {
  while (read_more({})) {
  }
  return !unread_.empty();
}

std::int64_t contender_process::kill() {
  const auto before = now();
  process_->kill(SIGKILL);
  EXPECT_TRUE(process_->wait(wait_limit));
  return before;
}

held_history contender_process::finish() {
  const auto status = process_->wait(wait_limit);
  EXPECT_TRUE(status) << name_of(library_) << " has not finished";
  EXPECT_EQ(status.value_or(exit_status{}).code, 0) << name_of(library_);
  while (const auto line = next_line({})) note(*line);
  for (const auto& i : history_) EXPECT_GE(i.released, i.acquired) << i.who << " never released";
  return history_;
}

std::optional<std::string> contender_process::next_line(std::chrono::nanoseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      auto line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    if (!read_more(deadline - std::chrono::steady_clock::now())) return std::nullopt;
  }
}

bool contender_process::read_more(std::chrono::nanoseconds limit) {
  pollfd readable{pipe_, POLLIN, 0};
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
  if (::poll(&readable, 1, static_cast<int>(std::max<std::int64_t>(ms, 0))) <= 0) return false;
  char bytes[4096];
  const auto n = ::read(pipe_, bytes, sizeof bytes);
  if (n > 0) unread_.append(bytes, static_cast<std::size_t>(n));
  return n > 0;
}

void contender_process::note(const std::string& line) {
  std::istringstream words{line};
  std::string what;
  std::string mode;
  std::size_t number = 0;
  words >> what >> number;
  if (number >= open_.size()) open_.resize(number + 1);
  if (what == "acquired") {
    held_interval i;
    words >> mode >> i.acquired >> i.token;
    i.mode = mode_named(mode);
    i.ours = library_ == library::conclave;
    i.who = std::string{name_of(library_)} + ' ' + std::to_string(process_->pid()) + '/' +
            std::to_string(number);
    open_[number] = history_.size();
    history_.push_back(std::move(i));
  } else {
    words >> history_.at(open_[number]).released;
  }
  if (!words) throw std::runtime_error{"not a line of a history: " + line};
}

std::string contender_process::output() const {
  std::ostringstream text;
  text << std::ifstream{folder_.path() / "output"}.rdbuf();
  return text.str();
}

}  // namespace conclave::testing
