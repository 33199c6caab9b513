// The text form of ACLs and node kinds in the columns of the store.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "server/core/rows.hpp"

namespace conclave::server_impl {

// Writes an ACL in a readable form: "world:anyone:cdrwa digest:bob:x8sd=:r". Entries are separated
// by a space. Each entry is scheme:id:permissions. Spaces, %, control bytes, bytes above ASCII and
// a colon in the scheme are written as %xx, so acl_from_text() restores every ACL exactly.
// Permissions that c, d, r, w and a cannot express are written as a number.
std::string acl_to_text(const acl& entries);
// Returns nullopt if the text is malformed.
std::optional<acl> acl_from_text(std::string_view text);

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
