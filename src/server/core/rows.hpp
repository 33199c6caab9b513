// What outlives the process: the rows that the core hands to a store, and that a store gives back
// when the server starts.
//
// A batch holds final states, not steps: a node that changed ten times between two commits is
// written once, and one that came and went is not written at all.
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

// What create, setData and setACL write.
struct node_row {
  std::optional<std::string> data;  // clients tell "null" from "empty"
  std::shared_ptr<const acl> access;
  std::int64_t czxid = 0;
  std::int64_t mzxid = 0;
  std::int64_t ctime_ms = 0;
  std::int64_t mtime_ms = 0;
  std::int32_t version = 0;
  std::int32_t aversion = 0;
  node_kind kind = node_kind::persistent;
  std::int64_t owner = 0;   // the session of an ephemeral node
  std::int64_t ttl_ms = 0;  // of a TTL node
};

// What the creation and removal of children write. Apart from the rest, so that a parent with much
// data is not written again for every child.
struct children_row {
  std::int32_t creates = 0;  // children ever created: the next sequence number
  std::int64_t pzxid = 0;    // the last creation or removal of a child

  friend bool operator==(const children_row&, const children_row&) = default;
};

using session_password = std::array<char, 16>;

struct session_row {
  std::int64_t id = 0;
  std::int32_t timeout_ms = 0;
  session_password password{};
};

// One commit. Everything it points to stays as it is until the store returns.
struct batch {
  struct node {
    std::string_view path;
    const node_row* row;
  };
  struct children {
    std::string_view path;
    children_row row;
  };

  std::int64_t zxid = 0;  // of the last change in it

  // To be applied in this order: a path may be removed and made anew in one batch.
  std::vector<std::string> removed_nodes;  // with their children rows
  std::vector<node> nodes;                 // new or changed
  std::vector<children> parents;  // new or changed; the node itself is stored, or in `nodes`
  std::vector<std::int64_t> removed_sessions;
  std::vector<session_row> sessions;  // new or changed
};

// All that is kept, as a store gives it back.
struct image {
  struct node {
    std::string path;
    node_row row;
    children_row children;  // zero creates: pzxid is the node's czxid
  };

  std::int64_t zxid = 0;    // zero: there was nothing
  std::vector<node> nodes;  // in any order; the root is among them unless there was nothing
  std::vector<session_row> sessions;
};

// Where it is kept.
class store {
 public:
  virtual ~store() = default;

  virtual image load() = 0;
  // All of it or nothing; on disk when it returns. Throws disk_full: nothing of it is kept, and a
  // later commit may work. Throws store_error: none will, and only the next load() can tell.
  virtual void commit(const batch& changes) = 0;
};

}  // namespace conclave::server_impl
