#include "user_process.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace conclave::testing {
namespace {

std::vector<std::string> program(side s, recipe r) {
  if (s == side::ours) return {QUEUE_USER};
  if (r == recipe::kazoo || r == recipe::kazoo_locking)
    return {"/usr/bin/python3", KAZOO_QUEUE_USER};
  return {JAVA,
          "-Xmx128m",
          "-XX:+UseSerialGC",
          "-XX:TieredStopAtLevel=1",
          "-XX:-UsePerfData",
          "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
          "-cp",
          CLASS_PATH,
          "conclave.interop.queue.QueueUser"};
}

// Users wait until no process has the pipe open for writing.
int make_gate(const std::filesystem::path& file) {
  int gate = -1;
  if (::mkfifo(file.c_str(), 0600) == 0) gate = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (gate < 0) throw std::system_error{errno, std::generic_category(), file.string()};
  return gate;
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

const char* name_of(recipe r) {
  switch (r) {
    case recipe::zookeeper: return "zookeeper";
    case recipe::curator: return "curator";
    case recipe::kazoo: return "kazoo";
    case recipe::kazoo_locking: return "kazoo_locking";
  }
  return "";
}

queue_layout layout_of(recipe r) {
  if (r == recipe::kazoo) return queue_layout::kazoo;
  return r == recipe::kazoo_locking ? queue_layout::kazoo_locking : queue_layout::zookeeper;
}

std::string items_path(recipe r, const std::string& path) {
  return r == recipe::kazoo_locking ? path + "/entries" : path;
}

void queue_history::add(const queue_history& other) {
  append(pushed, other.pushed);
  append(claimed, other.claimed);
  append(popped, other.popped);
  append(released, other.released);
}

user_process::user_process(side s, const usage& u)
    : name_{(s == side::ours ? "ours with " : "") + std::string{name_of(u.shared_with)} + ": " +
            u.roles},
      lines_{folder_.path() / "history"},
      gate_{make_gate(folder_.path() / "gate")} {
  auto argv = program(s, u.shared_with);
  for (const auto& word :
       {shared_server().connect_string(), u.path, std::string{name_of(u.shared_with)}, u.roles,
        std::to_string(u.pace_ms), (folder_.path() / "gate").string(),
        (folder_.path() / "history").string(), std::to_string(u.session_timeout.count())})
    argv.push_back(word);
  child_options options{std::move(argv)};
  options.output = folder_.path() / "output";
  process_.emplace(options);
  if (lines_.next(wait_limit) != "ready")
    throw std::runtime_error{name_ + " does not begin:\n" + output()};
}

user_process::~user_process() {
  if (::testing::Test::HasFailure())
    std::cerr << "output of " << name_ << ":\n" << output() << '\n';
  if (gate_ >= 0) ::close(gate_);
}

void user_process::open_gate() {
  if (gate_ < 0) return;
  ::close(gate_);
  gate_ = -1;
}

std::optional<std::string> user_process::next(const std::string& what,
                                              std::chrono::nanoseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const bool running =
        process_->running();  // checked first: after the exit, all its lines can be read
    const auto left = end - std::chrono::steady_clock::now();
    const auto line = lines_.next(running ? std::min<std::chrono::nanoseconds>(left, 200ms) : 0ns);
    if (!line && running && left > 0ns) continue;
    if (!line) return std::nullopt;
    std::istringstream words{*line};
    std::string word;
    std::string item;
    if (!(words >> word >> item)) throw std::runtime_error{"not a line of a history: " + *line};
    note(word, item);
    if (word == what) return item;
  }
}

const queue_history& user_process::reported() {
  while (next("", {})) {
  }
  return history_;
}

void user_process::kill() {
  process_->kill(SIGKILL);
  EXPECT_TRUE(process_->wait(wait_limit));
}

const queue_history& user_process::finish() {
  const auto status = process_->wait(wait_limit);
  EXPECT_TRUE(status) << name_ << " has not finished";
  EXPECT_EQ(status.value_or(exit_status{}).code, 0) << name_;
  return reported();
}

void user_process::note(const std::string& what, const std::string& item) {
  if (item == "end") return;
  if (what == "pushed")
    history_.pushed.push_back(item);
  else if (what == "claimed")
    history_.claimed.push_back(item);
  else if (what == "popped")
    history_.popped.push_back(item);
  else if (what == "gave-back")
    history_.released.push_back(item);
  else
    throw std::runtime_error{"not a word of a history: " + what};
}

std::string user_process::output() const {
  std::ostringstream text;
  text << std::ifstream{folder_.path() / "output"}.rdbuf();
  return text.str();
}

}  // namespace conclave::testing
