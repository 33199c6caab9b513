#include "cli/show/screen.hpp"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace conclave::cli {
namespace {

// Writes without a buffer, so that the text is on the terminal when this function returns.
void write_out(std::string_view text) {
  while (!text.empty()) {
    const auto n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno != EINTR) return;
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::size_t height() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return 24;
  return size.ws_row;
}

}  // namespace

screen::screen() { enter(); }

screen::~screen() { leave(); }

void screen::enter() {
  // Turn off the echo, so that typed keys do not appear on the screen.
  has_terminal_ = ::tcgetattr(STDIN_FILENO, &terminal_settings_) == 0;
  if (has_terminal_) {
    auto quiet = terminal_settings_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &quiet);
  }
  write_out("\033[?1049h\033[?25l\033[?7l");  // alternate screen, no cursor, no line wrap
}

void screen::leave() {
  write_out("\033[?7h\033[?25h\033[?1049l");
  if (has_terminal_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal_settings_);
}

void screen::stop() {
  leave();
  ::kill(::getpid(), SIGSTOP);
  enter();
}

void screen::draw(const std::vector<std::string>& lines, const std::string& last) {
  const auto room = height() - 1;
  std::string text = "\033[H";
  for (std::size_t i = 0; i < lines.size() && i < room; ++i) {
    if (i + 1 == room && lines.size() > room)
      text += "and " + std::to_string(lines.size() - i) + " more lines";
    else
      text += lines[i];
    text += "\033[K\r\n";
  }
  write_out(text + "\033[J" + last + "\033[K");
}

}  // namespace conclave::cli
