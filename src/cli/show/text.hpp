// Text in columns, on a terminal or not.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace conclave::cli {

// How a page may look where it is printed.
struct page {
  std::size_t width = 0;  // in columns; 0: as long as lines are
  bool unicode = false;
  bool colour = false;

  // Of stdout, now.
  static page of_stdout();
};

// Without what would move a terminal's cursor: other people's words are shown, not obeyed.
std::string printable(std::string_view text);

// A word as it would be typed into a shell.
std::string in_shell(const std::string& word);

// How many columns it takes, as far as a count of characters tells.
std::size_t columns(std::string_view text);
std::string padded(std::string text, std::size_t width);
// Cut to so many columns, with a mark that it was.
std::string clipped(const std::string& text, std::size_t width, bool unicode);

enum class ink { plain, bold, dim, green, yellow };
std::string inked(const std::string& text, ink i, const page& p);

}  // namespace conclave::cli
