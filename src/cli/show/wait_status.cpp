#include "cli/show/wait_status.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <mutex>

#include "cli/show/contender.hpp"
#include "cli/show/duration.hpp"
#include "cli/show/text.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

std::size_t width_of_terminal() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

void write_over(std::string text) {
  if (text.size() >= width_of_terminal()) text.resize(width_of_terminal() - 1);
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
}

}  // namespace

wait_status::wait_status(client& zk, subject what, form f)
    : zk_{zk},
      what_{std::move(what)},
      position_{what_.permits == 0 ? wait_position_reader{zk, what_.path, what_.names}
                                   : wait_position_reader{zk, what_.path, what_.permits}},
      form_{f},
      thread_{[this](const std::stop_token& s) { run(s); }} {}

wait_status::~wait_status() = default;

void wait_status::run(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock{mutex};
  const auto pause = [&](auto time) {
    changed.wait_for(lock, stop, time, [] { return false; });
    return !stop.stop_requested();
  };
  if (!pause(300ms)) return;
  while (true) {
    const auto s = current_state();
    if (stop.stop_requested()) break;
    show(s);
    if (!pause(500ms)) break;
  }
  if (form_ == form::one_line) write_over({});
}

void wait_status::show(const state& s) {
  if (form_ == form::one_line)
    return write_over(s.what + s.holder + " · waited " +
                      short_time(std::chrono::steady_clock::now() - since_));
  if (std::exchange(logged_, s.what) == s.what) return;
  std::fprintf(stderr, "conclave: %s%s\n", s.what.c_str(), s.holder.c_str());
}

wait_status::state wait_status::current_state() {
  const auto begin = "waiting for " + what_.name;
  if (zk_.state() != session_state::connected)
    return {begin + " · no connection to " + what_.server, {}};
  try {
    const auto [ahead, holder] = position_.read();
    auto text = begin + " · " + std::to_string(ahead) + " ahead";
    if (!holder) return {std::move(text), {}};
    return {text + " · held by " + printable(holder->owner),
            " for " + held_for(*holder, std::chrono::system_clock::now())};
  } catch (const error&) {
    return {begin, {}};
  }
}

}  // namespace conclave::cli
