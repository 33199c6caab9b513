// The alternate screen of a terminal, redrawn on changes. The destructor restores the normal
// screen.
#pragma once

#include <termios.h>

#include <string>
#include <vector>

namespace conclave::cli {

class screen {
 public:
  screen();
  ~screen();
  screen(const screen&) = delete;
  screen& operator=(const screen&) = delete;

  // Draws as many of the lines as fit. Always draws `last`.
  void draw(const std::vector<std::string>& lines, const std::string& last);
  // Handles Ctrl-Z: restores the normal screen, stops the process, and returns to this screen when
  // the process continues.
  void stop();

 private:
  void enter();
  void leave();
  bool has_terminal_ = false;
  termios terminal_settings_{};  // the settings to restore
};

}  // namespace conclave::cli
