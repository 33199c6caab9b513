#include "progress.hpp"

#include <unistd.h>

#include <cstdio>

namespace conclave::bench {

progress_display::progress_display() : terminal_(::isatty(STDERR_FILENO) == 1) {}

progress_display::~progress_display() {
  if (terminal_) show("");
}

void progress_display::step(const std::string& name, std::size_t rounds) {
  name_ = name;
  rounds_ = rounds;
  done_ = 0;
  if (terminal_)
    show(name_);
  else
    std::fprintf(stderr, "... %s\n", name_.c_str());
}

void progress_display::round_done(const std::string& who) {
  ++done_;
  if (!terminal_) return;
  constexpr std::size_t width = 24;
  const auto filled = rounds_ == 0 ? width : done_ * width / rounds_;
  show('[' + std::string(filled, '#') + std::string(width - filled, '.') + "] " + name_ + ": " +
       std::to_string(done_) + " of " + std::to_string(rounds_) + " rounds (" + who + ')');
}

void progress_display::show(const std::string& text) const {
  constexpr const char* clear_line = "\r\033[K";
  std::fprintf(stderr, "%s%s", clear_line, text.c_str());
  std::fflush(stderr);
}

}  // namespace conclave::bench
