#include "cli/show/waiting_line.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <mutex>

#include "cli/show/duration.hpp"
#include "cli/show/text.hpp"
#include "conclave/contenders.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

std::size_t width_of_terminal() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

void show(std::string text) {
  if (text.size() >= width_of_terminal()) text.resize(width_of_terminal() - 1);
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
}

}  // namespace

waiting_line::waiting_line(client& zk, subject what)
    : zk_{zk}, what_{std::move(what)}, thread_{[this](const std::stop_token& s) { run(s); }} {}

waiting_line::~waiting_line() = default;

void waiting_line::run(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock{mutex};
  const auto pause = [&](auto time) {
    changed.wait_for(lock, stop, time, [] { return false; });
    return !stop.stop_requested();
  };
  if (!pause(300ms)) return;
  while (true) {
    const auto line = text();
    if (stop.stop_requested()) break;
    show(line);
    if (!pause(500ms)) break;
  }
  show({});
}

std::string waiting_line::text() const {
  const auto waited = " · waited " + short_time(std::chrono::steady_clock::now() - since_);
  const auto begin = "waiting for " + what_.name;
  if (zk_.state() != session_state::connected) return begin + " · no connection" + waited;
  try {
    std::size_t before = 0;
    std::string holder;
    for (const auto& c : contenders(zk_, what_.path, what_.names)) {
      if (c.session_id == zk_.session_id()) break;
      if (c.holds && holder.empty())
        holder = " · held by " + printable(c.owner) + " for " +
                 short_time(std::chrono::system_clock::now() - c.since);
      ++before;
    }
    return begin + " · " + std::to_string(before) + " before us" + holder + waited;
  } catch (const error&) {
    return begin + waited;
  }
}

}  // namespace conclave::cli
