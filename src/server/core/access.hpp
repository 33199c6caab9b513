// Access control: the identities of connections and the ACLs of nodes.
#pragma once

#include <cstddef>
#include <cstdint>
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

// Limits on the identities of one connection.
inline constexpr std::size_t max_identities = 32;
inline constexpr std::size_t max_identity_bytes = 1024;
inline constexpr std::size_t max_identities_bytes = 8u << 10;  // of all of them together

// Limits on the ACL of one node. They apply to the ACL that the client sends and to the ACL that
// the server stores for it. Only the bytes of the schemes and ids count.
inline constexpr std::size_t max_acl_entries = 1000;
inline constexpr std::size_t max_acl_bytes = 64u << 10;
// Limit on the stored ACLs of all nodes whose "auth" entries one request expands.
inline constexpr std::size_t max_expanded_acl_bytes = 4u << 20;

// Has no effect if `who` already contains the identity. Returns false if the identity would exceed
// a limit.
bool add_identity(identities& who, identity added);

// Returns true if a client with the identities `who` may send this ACL. Its cost depends on the
// size of `sent`, and not on the size of the ACL that the server would store.
bool is_valid_acl(const std::vector<wire::acl_record>& sent, const identities& who);
// Returns the ACL that the server stores when a client sends the valid ACL `sent`. It has no
// duplicates, and in place of "auth" entries it contains the digest identities of the sender.
acl expand_acl(const std::vector<wire::acl_record>& sent, const identities& who);
std::size_t size_in_bytes(const acl& access);

// Returns `user:base64(sha1(user:password))`.
std::string digest_of(std::string_view user_and_password);

// Returns the form of a digest id that clients without admin permission see: the user without the
// hash.
std::string masked_digest(std::string_view id);

}  // namespace conclave::server_impl
