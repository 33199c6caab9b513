// A node's data and metadata, as the server returns them.
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
  std::int64_t czxid = 0;     // zxid of the creation; can serve as a fencing token
  std::int64_t mzxid = 0;     // zxid of the last change of the data
  std::int64_t ctime = 0;     // creation time in milliseconds since 1970, by the server's clock
  std::int64_t mtime = 0;     // time of the last change of the data, in the same unit
  std::int32_t version = 0;   // number of changes of the data
  std::int32_t cversion = 0;  // number of changes of the list of children
  std::int32_t aversion = 0;  // number of changes of the ACL
  std::int64_t ephemeral_owner = 0;  // session id of the owner of an ephemeral node, otherwise 0
  std::int32_t data_length = 0;
  std::int32_t num_children = 0;
  std::int64_t pzxid = 0;  // zxid of the last change of the list of children

  friend bool operator==(const node_stat&, const node_stat&) = default;
};

enum class create_mode : std::int32_t {
  persistent = 0,
  ephemeral = 1,
  persistent_sequential = 2,
  ephemeral_sequential = 3,
  container = 4,  // the server deletes it some time after its last child is deleted
  persistent_ttl = 5,
  persistent_sequential_ttl = 6,
};

// How to create a node. Converts implicitly from a mode, because most callers need nothing else.
struct create_options {
  create_options(create_mode m = create_mode::persistent) : mode{m} {}
  create_options(create_mode m, conclave::acl a) : mode{m}, acl{std::move(a)} {}
  create_options(create_mode m, std::chrono::milliseconds time_to_live)
      : mode{m}, ttl{time_to_live} {}

  create_mode mode;
  conclave::acl acl;                 // if empty, client_options::default_acl is used
  std::chrono::milliseconds ttl{0};  // only for the two _ttl modes
};

struct create_result {
  std::string path;  // with the sequence number, if the node is sequential
  node_stat stat;
};

struct get_result {
  std::string data;
  node_stat stat;
};

struct children_result {
  std::vector<std::string> names;  // without the parent's path, in no particular order
  node_stat stat;                  // of the parent
};

struct acl_result {
  conclave::acl acl;
  node_stat stat;
};

// An identity that the server has authenticated for this client.
struct identity {
  std::string scheme;
  std::string id;
  friend bool operator==(const identity&, const identity&) = default;
};

}  // namespace conclave
