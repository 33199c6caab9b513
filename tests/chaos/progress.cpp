#include "chaos/progress.hpp"

#include <unistd.h>

#include <cstdio>

namespace conclave::chaos {

progress::progress() : terminal_{::isatty(STDOUT_FILENO) == 1} {}

progress::~progress() {
  if (shown_) std::puts("");
}

void progress::show(nanoseconds left, const run_status& status, std::size_t faults,
                    std::size_t hits, std::size_t violations) {
  const auto t = now();
  if (t < next_) return;
  next_ = t + (terminal_ ? 1 : 10) * second;
  clear();
  const auto seconds = left > 0 ? left / second : 0;
  std::printf(
      "%2lld:%02lld left  %llu hand-offs  %zu faults, %zu on holders  %llu losses  "
      "%llu stale writes refused  %llu items  %zu violations",
      static_cast<long long>(seconds / 60), static_cast<long long>(seconds % 60),
      static_cast<unsigned long long>(status.hand_offs()), faults, hits,
      static_cast<unsigned long long>(status.losses()),
      static_cast<unsigned long long>(status.stale_refused()),
      static_cast<unsigned long long>(status.delivered()), violations);
  if (!terminal_) std::puts("");
  shown_ = terminal_;
  std::fflush(stdout);
}

void progress::print(const std::string& text) {
  clear();
  std::puts(text.c_str());
  std::fflush(stdout);
}

void progress::clear() {
  if (shown_) std::fputs("\r\033[K", stdout);
  shown_ = false;
}

}  // namespace conclave::chaos
