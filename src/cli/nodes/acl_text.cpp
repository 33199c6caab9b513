#include "cli/nodes/acl_text.hpp"

#include <array>
#include <optional>
#include <utility>

#include "cli/exit_code.hpp"

namespace conclave::cli {
namespace {

constexpr std::array<std::pair<char, std::int32_t>, 5> letters{{{'c', permission::create},
                                                                {'d', permission::remove},
                                                                {'r', permission::read},
                                                                {'w', permission::write},
                                                                {'a', permission::admin}}};

std::optional<std::int32_t> parse_permissions(const std::string& text) {
  std::int32_t bits = 0;
  for (const char c : text) {
    std::int32_t bit = 0;
    for (const auto& [letter, meaning] : letters)
      if (c == letter) bit = meaning;
    if (bit == 0) return {};
    bits |= bit;
  }
  if (text.empty()) return {};
  return bits;
}

std::optional<acl_entry> parse_entry(const std::string& text) {
  const auto first = text.find(':');
  const auto last = text.rfind(':');
  if (first == std::string::npos || first == 0 || first == last) return {};
  const auto permissions = parse_permissions(text.substr(last + 1));
  if (!permissions) return {};
  return acl_entry{*permissions, text.substr(0, first), text.substr(first + 1, last - first - 1)};
}

}  // namespace

std::string permissions_text(std::int32_t permissions) {
  std::string text;
  for (const auto& [letter, bit] : letters)
    if ((permissions & bit) != 0) text += letter;
  return text;
}

std::string to_text(const acl_entry& e) {
  return e.scheme + ":" + e.id + ":" + permissions_text(e.permissions);
}

acl parse_acl(const std::string& text) {
  acl list;
  std::string entry;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    entry += text.substr(begin, end - begin);
    begin = end + 1;
    if (auto parsed = parse_entry(entry)) {
      list.push_back(std::move(*parsed));
      entry.clear();
    } else {
      entry += ',';  // names in certificates contain commas
    }
  }
  if (list.empty() || !entry.empty())
    throw failure{usage, "'" + text +
                             "' is not an ACL; write SCHEME:ID:PERMISSIONS,... with permissions "
                             "from cdrwa, for example world:anyone:r or auth::cdrwa"};
  return list;
}

}  // namespace conclave::cli
