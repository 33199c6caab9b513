// Access control lists of nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace conclave {

// Permissions are bits of an int; combine them with |.
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

// Anybody may do anything.
inline acl open_acl() { return {acl_entry{}}; }
// Anybody may read, nobody may change.
inline acl read_only_acl() { return {acl_entry{permission::read, "world", "anyone"}}; }
// Only those who have the credentials of the creating client.
inline acl creator_all_acl() { return {acl_entry{permission::all, "auth", ""}}; }

}  // namespace conclave
