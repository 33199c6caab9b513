#include "cli/show/text.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace conclave::cli {
namespace {

bool begins_a_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

bool locale_is_utf8() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view said{value};
    return said.find("UTF-8") != said.npos || said.find("utf8") != said.npos;
  }
  return false;
}

}  // namespace

output_format output_format::of_stdout() {
  output_format p;
  if (::isatty(STDOUT_FILENO) != 1) return p;
  winsize size{};
  p.width = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : 80;
  p.unicode = locale_is_utf8();
  const char* const term = std::getenv("TERM");
  const char* const no_colour = std::getenv("NO_COLOR");
  p.colour = term != nullptr && std::string_view{term} != "dumb" &&
             (no_colour == nullptr || *no_colour == '\0');
  return p;
}

std::string printable(std::string_view text) {
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool c1 = c == 0xc2 && i + 1 < text.size() &&
                    static_cast<unsigned char>(text[i + 1]) < 0xa0;  // U+0080 to U+009F
    if (c1) ++i;
    if (c1 || c < 0x20 || c == 0x7f)
      shown += c == '\n' || c == '\t' ? ' ' : '?';
    else
      shown += text[i];
  }
  return shown;
}

std::size_t columns(std::string_view text) {
  std::size_t n = 0;
  for (const char c : text) n += begins_a_character(c) ? 1 : 0;
  return n;
}

std::string padded(std::string text, std::size_t width) {
  const auto has = columns(text);
  if (has < width) text.append(width - has, ' ');
  return text;
}

std::string clipped(const std::string& text, std::size_t width, bool unicode) {
  if (columns(text) <= width) return text;
  const std::string mark = unicode ? "…" : "~";
  if (width == 0) return {};
  std::size_t n = 0, end = 0;
  while (end < text.size() && (n < width - 1 || !begins_a_character(text[end]))) {
    n += begins_a_character(text[end]) ? 1 : 0;
    ++end;
  }
  return text.substr(0, end) + mark;
}

std::string styled(const std::string& text, text_style i, const output_format& p) {
  if (!p.colour || i == text_style::plain || text.empty()) return text;
  const char* const codes[] = {"", "1", "2", "32", "33"};
  return std::string{"\033["} + codes[static_cast<int>(i)] + "m" + text + "\033[0m";
}

std::string in_shell(const std::string& word) {
  constexpr auto harmless =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(harmless) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return quoted + "'";
}

}  // namespace conclave::cli
