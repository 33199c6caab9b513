#include "server/store/column_text.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

namespace conclave::server_impl {
namespace {

// The permission bits of ZooKeeper, in the order of zkCli.
constexpr std::array<std::pair<char, std::int32_t>, 5> letters{
    {{'c', 4}, {'d', 8}, {'r', 1}, {'w', 2}, {'a', 16}}};
constexpr std::int32_t all_letters = 31;

void append_escaped(std::string& out, std::string_view bytes, bool colon_too) {
  constexpr std::string_view hex = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte >= 0x7f || c == '%' || (colon_too && c == ':')) {
      out += '%';
      out += hex[byte >> 4];
      out += hex[byte & 15];
    } else {
      out += c;
    }
  }
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return {};
    unsigned char byte = 0;
    const char* const end = text.data() + i + 3;
    if (std::from_chars(text.data() + i + 1, end, byte, 16).ptr != end) return {};
    out += static_cast<char>(byte);
    i += 2;
  }
  return out;
}

void append_permissions(std::string& out, std::int32_t permissions) {
  if (permissions == 0 || (permissions & ~all_letters) != 0) {
    out += std::to_string(permissions);
    return;
  }
  for (const auto& [letter, bit] : letters) {
    if ((permissions & bit) != 0) out += letter;
  }
}

std::optional<std::int32_t> permissions_from(std::string_view text) {
  std::int32_t value = 0;
  const char* const end = text.data() + text.size();
  if (const auto [ptr, error] = std::from_chars(text.data(), end, value); error == std::errc{}) {
    return ptr == end ? std::optional{value} : std::nullopt;
  }
  for (const char c : text) {
    std::int32_t bit = 0;
    for (const auto& [letter, its_bit] : letters) {
      if (letter == c) bit = its_bit;
    }
    if (bit == 0) return {};
    value |= bit;
  }
  return value == 0 ? std::nullopt : std::optional{value};
}

std::optional<acl_entry> entry_from(std::string_view text) {
  const auto first = text.find(':');
  const auto last = text.rfind(':');
  if (first == last) return {};  // fewer than two colons
  auto scheme = unescaped(text.substr(0, first));
  auto id = unescaped(text.substr(first + 1, last - first - 1));
  const auto permissions = permissions_from(text.substr(last + 1));
  if (!scheme || !id || !permissions) return {};
  return acl_entry{*permissions, std::move(*scheme), std::move(*id)};
}

}  // namespace

std::string acl_to_text(const acl& entries) {
  std::string out;
  for (const auto& entry : entries) {
    if (!out.empty()) out += ' ';
    append_escaped(out, entry.scheme, true);
    out += ':';
    append_escaped(out, entry.id, false);
    out += ':';
    append_permissions(out, entry.permissions);
  }
  return out;
}

std::optional<acl> acl_from_text(std::string_view text) {
  acl entries;
  while (!text.empty()) {
    const auto space = text.find(' ');
    auto entry = entry_from(text.substr(0, space));
    if (!entry) return {};
    entries.push_back(std::move(*entry));
    if (space == std::string_view::npos) break;
    text.remove_prefix(space + 1);
    if (text.empty()) return {};
  }
  return entries;
}

}  // namespace conclave::server_impl
