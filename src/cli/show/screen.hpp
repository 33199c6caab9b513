// A terminal's other screen, which is drawn anew as things change. The first one is as it was, and
// back, once this is gone.
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

  // As many of the lines as there is room for, and the last line in any case.
  void draw(const std::vector<std::string>& lines, const std::string& last);
  // Ctrl-Z: the user's screen comes back, we stop, and when we go on so does this screen.
  void stop();

 private:
  void enter();
  void leave();
  bool has_keys_ = false;
  termios keys_{};  // as they were
};

}  // namespace conclave::cli
