// An access list as people write it: "world:anyone:cdrwa digest:bob:x8sd=:r".
//
// Entries are parted by a space; each is scheme:id:permissions. Bytes that would be misread (space,
// %, control bytes, a colon in the scheme) and everything beyond ASCII stand as %xx, so any list
// comes back as it was. Permissions other than some of c, d, r, w, a stand as a number.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "server/core/rows.hpp"

namespace conclave::server_impl {

std::string acl_to_text(const acl& entries);
std::optional<acl> acl_from_text(std::string_view text);  // nothing: not such a text

inline constexpr std::array<std::string_view, 4> node_kind_texts{"persistent", "ephemeral",
                                                                 "container", "ttl"};

constexpr std::string_view node_kind_to_text(node_kind kind) {
  return node_kind_texts[static_cast<std::size_t>(kind)];
}

constexpr std::optional<node_kind> node_kind_from_text(std::string_view text) {
  for (std::size_t i = 0; i < node_kind_texts.size(); ++i) {
    if (node_kind_texts[i] == text) return static_cast<node_kind>(i);
  }
  return {};
}

}  // namespace conclave::server_impl
