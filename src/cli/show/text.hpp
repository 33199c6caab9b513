// Text in columns, for a terminal or a file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace conclave::cli {

// The properties of the output.
struct output_format {
  std::size_t width = 0;  // in columns; 0 means no limit
  bool unicode = false;
  bool colour = false;

  // Returns the current properties of stdout.
  static output_format of_stdout();
};

// Replaces control characters, so that text from other users cannot control the terminal.
std::string printable(std::string_view text);

// Returns the word, quoted for a shell.
std::string in_shell(const std::string& word);

// Returns the number of columns of the text. Each character counts as one column.
std::size_t columns(std::string_view text);
std::string padded(std::string text, std::size_t width);
// Returns the text clipped to `width` columns. A clipped text ends with "…", or with "~" if
// `unicode` is false.
std::string clipped(const std::string& text, std::size_t width, bool unicode);

enum class text_style { plain, bold, dim, green, yellow };
std::string styled(const std::string& text, text_style i, const output_format& p);

}  // namespace conclave::cli
