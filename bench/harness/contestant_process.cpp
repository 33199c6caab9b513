#include "harness/contestant_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "harness/text_file.hpp"

namespace conclave::bench {
namespace {

// Opened for both directions, so that neither side finds it closed and opening does not wait.
int make_pipe(const std::filesystem::path& file) {
  int pipe = -1;
  if (::mkfifo(file.c_str(), 0600) == 0)
    pipe = ::open(file.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (pipe < 0) throw std::system_error(errno, std::generic_category(), file.string());
  return pipe;
}

}  // namespace

contestant_process::contestant_process(const std::vector<std::string>& command,
                                       std::optional<int> cpu) {
  const auto commands = folder_.path() / "commands";
  const auto answers = folder_.path() / "answers";
  to_ = make_pipe(commands);
  from_ = make_pipe(answers);
  std::vector<std::string> all{"/bin/sh", "-c",     "in=$1 out=$2; shift 2; exec \"$@\" <$in >$out",
                               "sh",      commands, answers};
  all.insert(all.end(), command.begin(), command.end());
  testing::child_options options(std::move(all));
  options.output = folder_.path() / "complaints";
  process_.emplace(options);
  if (cpu) pin_.emplace(process_->pid(), *cpu);
}

contestant_process::~contestant_process() {
  ::close(to_);
  ::close(from_);
}

void contestant_process::tell(const std::string& line) {
  const auto text = line + '\n';
  if (::write(to_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    fail("does not listen");
}

std::string contestant_process::answer(std::chrono::seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      auto line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    if (!process_->running()) fail("has ended");
    if (std::chrono::steady_clock::now() > deadline) fail("does not answer");
    pollfd readable{from_, POLLIN, 0};
    constexpr int look_after_it_ms = 200;
    if (::poll(&readable, 1, look_after_it_ms) <= 0) continue;
    char bytes[256];
    const auto n = ::read(from_, bytes, sizeof bytes);
    if (n > 0) unread_.append(bytes, static_cast<std::size_t>(n));
  }
}

std::string contestant_process::answer(const std::string& expected, std::chrono::seconds limit) {
  auto line = answer(limit);
  if (!line.starts_with(expected)) fail("answers '" + line + "' instead of '" + expected + "'");
  return line;
}

void contestant_process::fail(const std::string& what) {
  throw std::runtime_error("a contestant " + what + ":\n" + text_of(folder_.path() / "complaints"));
}

}  // namespace conclave::bench
