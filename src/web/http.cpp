#include "web/http.hpp"

#include <charconv>

namespace conclave::web {
namespace {

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    if (text[i] == '%' && i + 2 < text.size()) {
      const auto* const from = text.data() + i + 1;
      if (const auto [stop, ec] = std::from_chars(from, from + 2, byte, 16);
          ec == std::errc{} && stop == from + 2) {
        decoded += static_cast<char>(byte);
        i += 2;
        continue;
      }
    }
    decoded += text[i] == '+' ? ' ' : text[i];
  }
  return decoded;
}

// Calls f(part) for each part of a list until it returns true.
template <class F>
void for_each_part(std::string_view list, char separator, F f) {
  while (!list.empty()) {
    const auto end = list.find(separator);
    if (f(list.substr(0, end)) || end == std::string_view::npos) return;
    list.remove_prefix(end + 1);
  }
}

}  // namespace

std::string query_value(std::string_view query, std::string_view name) {
  std::string value;
  for_each_part(query, '&', [&](std::string_view part) {
    const auto equals = part.find('=');
    if (equals == std::string_view::npos || part.substr(0, equals) != name) return false;
    value = percent_decoded(part.substr(equals + 1));
    return true;
  });
  return value;
}

std::string_view cookie_value(std::string_view cookies, std::string_view name) {
  std::string_view value;
  for_each_part(cookies, ';', [&](std::string_view part) {
    while (part.starts_with(' ')) part.remove_prefix(1);
    const auto equals = part.find('=');
    if (equals == std::string_view::npos || part.substr(0, equals) != name) return false;
    value = part.substr(equals + 1);
    return true;
  });
  return value;
}

}  // namespace conclave::web
