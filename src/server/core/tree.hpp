// The nodes in memory. The tree also records which rows differ from the store, and it has an undo
// log for rollback().
//
// The tree does not know about sessions or connections. The caller checks permissions and versions.
// Every change belongs to a transaction, which ends with commit() or rollback().
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
#include "server/core/shrink.hpp"
#include "server/core/text_hash.hpp"

namespace conclave::server_impl {

struct node {
  node_row row;
  children_row counters;
  node* parent = nullptr;
  std::string_view path;                // a view of its key in the map
  std::set<std::string_view> children;  // names, as views of the paths of the children

  bool stored = false;  // a row of this path is in the store
  // Positions in tree::dirty_rows_ and tree::dirty_counters_, plus one. 0 means not dirty.
  std::uint32_t dirty_row_position = 0;
  std::uint32_t dirty_counters_position = 0;

  std::string_view name() const noexcept { return path.substr(path.rfind('/') + 1); }
};

// Returns the stat that clients receive.
node_stat stat_of(const node& n);

// The nodes whose rows, or whose counters, differ from the store.
class dirty_list {
 public:
  // `position` is the member of `node` in which this list stores the position of the node, plus
  // one.
  explicit dirty_list(std::uint32_t node::*position) : position_{position} {}

  // add() and remove() return false if there was nothing to do.
  bool add(node& n);
  bool remove(node& n);
  bool empty() const noexcept { return count_ == 0; }
  // Removes all nodes and calls f(node) for each, in the order in which they were added.
  template <class F>
  void take(F f) {
    for (auto* n : nodes_) {
      if (n == nullptr) continue;
      n->*position_ = 0;
      f(*n);
    }
    nodes_.clear();
    count_ = 0;
  }
  void shrink() { server_impl::shrink(nodes_); }

 private:
  std::uint32_t node::*position_;
  std::vector<node*> nodes_;  // null for nodes that were removed from the list
  std::size_t count_ = 0;     // entries that are not null
};

class tree {
 public:
  // `stored_nodes` are sorted by path. If there are none, creates the root and the system nodes.
  explicit tree(std::vector<image::node> stored_nodes);
  tree(const tree&) = delete;
  tree& operator=(const tree&) = delete;

  node* find(std::string_view path);
  std::size_t size() const noexcept { return nodes_.size(); }
  std::size_t ephemeral_count() const noexcept { return ephemeral_count_; }
  // Returns the approximate number of bytes of all paths and data.
  std::int64_t data_size() const noexcept { return data_size_; }
  std::size_t count_below(std::string_view path) const;

  // Returns the sorted paths of a session's ephemeral nodes.
  std::vector<std::string> ephemerals_of(std::int64_t session) const;
  const std::unordered_map<std::int64_t, std::set<std::string_view>>& ephemerals() const noexcept {
    return ephemerals_;
  }
  // Returns the sorted paths of expired TTL nodes and of empty containers that had children.
  std::vector<std::string> reapable(std::int64_t wall_ms) const;
  bool anything_to_reap() const noexcept { return !containers_.empty() || !ttls_.empty(); }

  // The path must not exist.
  node& create(node& parent, std::string path, node_row row);
  // The node must not have children.
  void remove(node& n, std::int64_t zxid);
  void set_data(node& n, std::optional<std::string> data, std::int64_t zxid, std::int64_t wall_ms);
  void set_acl(node& n, std::shared_ptr<const acl> access);

  void commit();
  void rollback();

  // Frees memory that is no longer needed. Call between transactions.
  void shrink();

  // Moves all dirty rows to the batch and marks them clean.
  void take_dirty(batch& out);
  bool has_dirty() const noexcept {
    return !removed_paths_.empty() || !dirty_rows_.empty() || !dirty_counters_.empty();
  }

 private:
  using node_map = std::unordered_map<std::string, node, text_hash, std::equal_to<>>;

  // A change of a node's counters. `was_clean` is true if the counters were clean before the
  // change.
  struct counters_change {
    children_row before;
    bool was_clean;
  };
  // A change of a node's row. `was_clean` is true if the row was clean before the change.
  struct row_change {
    node* what;
    bool was_clean;
  };
  // Entries of the undo log.
  struct node_created {
    node* what;
    counters_change of_parent;
  };
  struct node_removed {
    node_map::node_type what;  // if the node is stored, its path was added to removed_paths_
    counters_change of_parent;
    bool row_was_dirty, counters_were_dirty;
  };
  struct data_changed {
    row_change of_node;
    std::optional<std::string> data;
    std::int64_t mzxid, mtime_ms;
    std::int32_t version;
  };
  struct acl_changed {
    row_change of_node;
    std::shared_ptr<const acl> access;
    std::int32_t aversion;
  };

  node& insert(std::string path, node_row row, children_row counters);
  void load(std::vector<image::node> sorted, bool stored);
  void index(node& n);
  void unindex(node& n);
  // Call when the change with this zxid has created or removed a child.
  counters_change change_counters(node& parent, std::int64_t zxid);
  row_change change_row(node& n) { return {&n, dirty_rows_.add(n)}; }
  void revert_counters(node& parent, const counters_change& c);

  node_map nodes_;
  std::unordered_map<std::int64_t, std::set<std::string_view>> ephemerals_;
  std::unordered_set<node*> containers_;
  std::unordered_set<node*> ttls_;
  std::size_t ephemeral_count_ = 0;
  std::int64_t data_size_ = 0;

  std::vector<std::variant<node_created, node_removed, data_changed, acl_changed>> undo_log_;

  std::vector<std::string> removed_paths_;
  dirty_list dirty_rows_{&node::dirty_row_position};
  dirty_list dirty_counters_{&node::dirty_counters_position};
};

}  // namespace conclave::server_impl
