// The znodes: what can be done to them, what that changes on disk, and how to take it back.
//
// Knows neither sessions nor connections; permissions and versions are checked by the caller.
// Every change belongs to a transaction that ends with keep() or undo().
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "conclave/node.hpp"
#include "server/core/rows.hpp"
#include "server/core/text_hash.hpp"

namespace conclave::server_impl {

struct node {
  node_row row;
  children_row counters;
  node* parent = nullptr;
  std::string_view path;                // the key it is stored under
  std::set<std::string_view> children;  // names, which are the ends of the children's paths

  bool stored = false;  // on disk in some state
  // Places in the tree's lists of what is to be written, plus one; zero when not there.
  std::uint32_t dirty_row_index = 0;
  std::uint32_t dirty_counters_index = 0;

  std::string_view name() const noexcept { return path.substr(path.rfind('/') + 1); }
};

// As clients see it.
node_stat stat_of(const node& n);

class tree {
 public:
  // With the root and ZooKeeper's own nodes, when nothing was kept.
  explicit tree(std::vector<image::node> stored_nodes);
  tree(const tree&) = delete;
  tree& operator=(const tree&) = delete;

  node* find(std::string_view path);
  std::size_t size() const noexcept { return nodes_.size(); }
  std::size_t ephemeral_count() const noexcept { return ephemeral_count_; }
  // Bytes of paths and data, about.
  std::int64_t data_size() const noexcept { return data_size_; }
  std::size_t count_below(std::string_view path) const;

  // Paths of the session's ephemeral nodes, sorted.
  std::vector<std::string> ephemerals_of(std::int64_t session) const;
  const std::unordered_map<std::int64_t, std::set<std::string_view>>& ephemerals() const noexcept {
    return ephemerals_;
  }
  // Empty containers that have had children, and TTL nodes that are past their time.
  std::vector<std::string> reapable(std::int64_t wall_ms) const;
  bool anything_to_reap() const noexcept { return !containers_.empty() || !ttls_.empty(); }

  // The parent is there, and the path is not.
  node& create(node& parent, std::string path, node_row row);
  // It has no children.
  void remove(node& n, std::int64_t zxid);
  void set_data(node& n, std::optional<std::string> data, std::int64_t zxid, std::int64_t wall_ms);
  void set_acl(node& n, std::shared_ptr<const acl> access);

  void commit();
  void rollback();

  // Adds what is not on disk yet to the batch, and takes it as written.
  void take_dirty(batch& out);
  bool has_dirty() const noexcept {
    return !removed_paths_.empty() || dirty_row_count_ != 0 || dirty_counters_count_ != 0;
  }

 private:
  using node_map = std::unordered_map<std::string, node, text_hash, std::equal_to<>>;

  // Steps to be taken back. `first`: before it, the row or the parent's counters were as on disk.
  struct node_created {
    node* what;
    children_row parent_before;
    bool was_clean;
  };
  struct node_removed {
    node_map::node_type what;
    children_row parent_before;
    bool was_clean;
    bool was_stored;  // among removed_
    bool row_was_dirty, counters_were_dirty;
  };
  struct data_changed {
    node* what;
    std::optional<std::string> data;
    std::int64_t mzxid, mtime_ms;
    std::int32_t version;
    bool was_clean;
  };
  struct acl_changed {
    node* what;
    std::shared_ptr<const acl> access;
    std::int32_t aversion;
    bool was_clean;
  };

  node& insert(std::string path, node_row row, children_row counters);
  void index(node& n);
  void unindex(node& n);
  // False if they had changed already.
  bool mark_row_dirty(node& n);
  bool mark_counters_dirty(node& n);
  // They are as on disk, or the node is gone.
  void mark_row_clean(node& n);
  void mark_counters_clean(node& n);

  node_map nodes_;
  std::unordered_map<std::int64_t, std::set<std::string_view>> ephemerals_;
  std::unordered_set<node*> containers_;
  std::unordered_set<node*> ttls_;
  std::size_t ephemeral_count_ = 0;
  std::int64_t data_size_ = 0;

  std::vector<std::variant<node_created, node_removed, data_changed, acl_changed>> undo_log_;

  std::vector<std::string> removed_paths_;
  std::vector<node*> dirty_rows_;      // null where the node went meanwhile
  std::vector<node*> dirty_counters_;  // the same
  std::size_t dirty_row_count_ = 0;    // how many of them are not null
  std::size_t dirty_counters_count_ = 0;
};

}  // namespace conclave::server_impl
