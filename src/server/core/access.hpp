// Access control: the identities of connections and the ACLs of nodes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/rows.hpp"
#include "wire/records.hpp"

namespace conclave::server_impl {

struct identity {
  std::string scheme;
  std::string id;

  friend bool operator==(const identity&, const identity&) = default;
};
using identities = std::vector<identity>;

namespace permission {
inline constexpr std::int32_t read = 1;
inline constexpr std::int32_t write = 2;
inline constexpr std::int32_t create = 4;
inline constexpr std::int32_t remove = 8;
inline constexpr std::int32_t admin = 16;
}  // namespace permission

// Returns true if `access` grants `who` at least one of `permissions`.
bool allowed(const acl& access, std::int32_t permissions, const identities& who);

inline constexpr std::size_t max_identities = 100;    // of one connection
inline constexpr std::size_t max_acl_entries = 1000;  // of one node

// Returns the ACL that the server stores when a client sends the ACL `sent`. The stored ACL has no
// duplicates, and in place of "auth" entries it contains the digest identities of the sender.
// Returns nullopt if the ACL is not valid.
std::optional<acl> validate_acl(const std::vector<wire::acl_record>& sent, const identities& who);

// Returns `user:base64(sha1(user:password))`.
std::string digest_of(std::string_view user_and_password);

// Returns the form of a digest id that clients without admin permission see: the user without the
// hash.
std::string masked_digest(std::string_view id);

}  // namespace conclave::server_impl
