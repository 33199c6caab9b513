// An access list as people write it: "world:anyone:cdrwa digest:bob:x8sd=:r".
//
// Entries are parted by a space; each is scheme:id:permissions. Bytes that would be misread (space,
// %, control bytes, a colon in the scheme) and everything beyond ASCII stand as %xx, so any list
// comes back as it was. Permissions other than some of c, d, r, w, a stand as a number.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/core/rows.hpp"

namespace conclave::server_impl {

std::string acl_to_text(const acl& entries);
std::optional<acl> acl_from_text(std::string_view text);  // nothing: not such a text

}  // namespace conclave::server_impl
