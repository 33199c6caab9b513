// Access control lists (ACLs) of nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace conclave {

// Permission bits. Combine them with |.
namespace permission {
inline constexpr std::int32_t read = 1;
inline constexpr std::int32_t write = 2;
inline constexpr std::int32_t create = 4;
inline constexpr std::int32_t remove = 8;
inline constexpr std::int32_t admin = 16;
inline constexpr std::int32_t all = 31;
}  // namespace permission

struct acl_entry {
  std::int32_t permissions = permission::all;
  std::string scheme = "world";
  std::string id = "anyone";

  friend bool operator==(const acl_entry&, const acl_entry&) = default;
};

using acl = std::vector<acl_entry>;

// Everybody may do everything.
inline acl open_acl() { return {acl_entry{}}; }
// Everybody may read, and nobody may write.
inline acl read_only_acl() { return {acl_entry{permission::read, "world", "anyone"}}; }
// Full access, but only with the credentials of the client that creates the node.
inline acl creator_all_acl() { return {acl_entry{permission::all, "auth", ""}}; }

}  // namespace conclave
