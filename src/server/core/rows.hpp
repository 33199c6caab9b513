// The rows that the core stores and loads, and the interface of a store.
//
// A batch contains final states, not single changes. A node that changed ten times between two
// commits is written once. A node that was created and removed between two commits is not written
// at all.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace conclave::server_impl {

struct acl_entry {
  std::int32_t permissions = 0;
  std::string scheme;
  std::string id;

  friend bool operator==(const acl_entry&, const acl_entry&) = default;
};
using acl = std::vector<acl_entry>;

enum class node_kind : std::uint8_t { persistent, ephemeral, container, ttl };

// The part of a node that the requests create, setData and setACL change.
struct node_row {
  std::optional<std::string> data;  // null and empty are different for clients
  std::shared_ptr<const acl> access;
  std::int64_t czxid = 0;
  std::int64_t mzxid = 0;
  std::int64_t ctime_ms = 0;
  std::int64_t mtime_ms = 0;
  std::int32_t version = 0;
  std::int32_t aversion = 0;
  node_kind kind = node_kind::persistent;
  std::int64_t owner = 0;   // session of an ephemeral node
  std::int64_t ttl_ms = 0;  // of a TTL node
};

// The part of a node that changes when a child is created or removed. It is separate so that a new
// child does not rewrite the data of its parent.
struct children_row {
  // Number of children ever created, which is also the next sequence number.
  std::int32_t creates = 0;
  std::int64_t pzxid = 0;  // of the last creation or removal of a child

  friend bool operator==(const children_row&, const children_row&) = default;
};

using session_password = std::array<char, 16>;

struct session_row {
  std::int64_t id = 0;
  std::int32_t timeout_ms = 0;
  session_password password{};
};

// The changes of one commit. The pointers stay valid until store::commit() returns.
struct batch {
  struct node {
    std::string_view path;
    const node_row* row;
  };
  struct children {
    std::string_view path;
    children_row row;
  };

  std::int64_t zxid = 0;  // of the last change

  // The store applies these lists in order, because one batch may remove a path and create it
  // again.
  std::vector<std::string> removed_nodes;  // together with their children rows
  std::vector<node> nodes;                 // new or changed
  std::vector<children> parents;  // new or changed; the node is stored already or in `nodes`
  std::vector<std::int64_t> removed_sessions;
  std::vector<session_row> sessions;  // new or changed
};

// The whole content of a store.
struct image {
  struct node {
    std::string path;
    node_row row;
    children_row children;  // if creates is 0, pzxid is the czxid of the node
  };

  std::int64_t zxid = 0;    // 0 if the store is empty
  std::vector<node> nodes;  // sorted by path; contains the root unless the store is empty
  std::vector<session_row> sessions;
};

class store {
 public:
  virtual ~store() = default;

  virtual image load() = 0;
  // Stores the batch atomically and durably. Throws disk_full if the disk is full. In that case,
  // nothing was written, and a later commit may succeed. Throws store_error if the outcome is
  // unknown. All later commits then fail. To learn whether the batch was stored, open the store
  // again and call load().
  virtual void commit(const batch& changes) = 0;
};

}  // namespace conclave::server_impl
