// A node and its metadata, as the server tells them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conclave/acl.hpp"

namespace conclave {

// Matches every version of a node.
inline constexpr std::int32_t any_version = -1;

struct node_stat {
  std::int64_t czxid = 0;            // the transaction that created the node: a fencing token
  std::int64_t mzxid = 0;            // the transaction that last changed its data
  std::int64_t ctime = 0;            // created, in milliseconds since 1970 by the server's clock
  std::int64_t mtime = 0;            // data last changed, likewise
  std::int32_t version = 0;          // number of changes of the data
  std::int32_t cversion = 0;         // number of changes of the children
  std::int32_t aversion = 0;         // number of changes of the ACL
  std::int64_t ephemeral_owner = 0;  // the session that owns an ephemeral node, otherwise 0
  std::int32_t data_length = 0;
  std::int32_t num_children = 0;
  std::int64_t pzxid = 0;  // the transaction that last changed the children

  friend bool operator==(const node_stat&, const node_stat&) = default;
};

enum class create_mode : std::int32_t {
  persistent = 0,
  ephemeral = 1,
  persistent_sequential = 2,
  ephemeral_sequential = 3,
  container = 4,  // removed by the server some time after its last child went
  persistent_ttl = 5,
  persistent_sequential_ttl = 6,
};

// How to create a node. Converts from a mode, since most callers need no more.
struct create_options {
  create_options(create_mode m = create_mode::persistent) : mode{m} {}
  create_options(create_mode m, conclave::acl a) : mode{m}, acl{std::move(a)} {}
  create_options(create_mode m, std::chrono::milliseconds time_to_live)
      : mode{m}, ttl{time_to_live} {}

  create_mode mode;
  conclave::acl acl;                 // empty: the client's default ACL
  std::chrono::milliseconds ttl{0};  // for the two _ttl modes
};

struct create_result {
  std::string path;  // with the suffix that the server gave a sequential node
  node_stat stat;
};

struct get_result {
  std::string data;
  node_stat stat;
};

struct children_result {
  std::vector<std::string> names;  // in no particular order, without the parent's path
  node_stat stat;                  // of the parent
};

struct acl_result {
  conclave::acl acl;
  node_stat stat;
};

// Who the server takes this client for: one entry for each scheme it was authenticated with.
struct identity {
  std::string scheme;
  std::string id;
  friend bool operator==(const identity&, const identity&) = default;
};

}  // namespace conclave
