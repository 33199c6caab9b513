#include "server/core/tree.hpp"

#include <algorithm>

#include "server/core/node_path.hpp"

namespace conclave::server_impl {
namespace {

std::int64_t size_of(const node& n) {
  return static_cast<std::int64_t>(n.path.size() + (n.row.data ? n.row.data->size() : 0));
}

// The nodes of a new store.
std::vector<image::node> system_nodes() {
  const auto open = std::make_shared<const acl>(acl{{31, "world", "anyone"}});
  const auto readable = std::make_shared<const acl>(acl{{1, "world", "anyone"}});
  std::vector<image::node> nodes;
  for (const auto* path : {"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"}) {
    auto& n = nodes.emplace_back();
    n.path = path;
    n.row.data = "";
    const bool is_config = n.path == "/zookeeper/config";
    n.row.access = is_config ? readable : open;
    if (is_config) n.row.aversion = -1;  // like Apache's server
  }
  return nodes;
}

}  // namespace

node_stat stat_of(const node& n) {
  node_stat s;
  s.czxid = n.row.czxid;
  s.mzxid = n.row.mzxid;
  s.ctime = n.row.ctime_ms;
  s.mtime = n.row.mtime_ms;
  s.version = n.row.version;
  // cversion counts creations and removals of children. Removals are creates minus present
  // children.
  s.cversion = static_cast<std::int32_t>(2u * static_cast<std::uint32_t>(n.counters.creates) -
                                         static_cast<std::uint32_t>(n.children.size()));
  s.aversion = n.row.aversion;
  s.ephemeral_owner = n.row.kind == node_kind::ephemeral ? n.row.owner : 0;
  s.data_length = n.row.data ? static_cast<std::int32_t>(n.row.data->size()) : 0;
  s.num_children = static_cast<std::int32_t>(n.children.size());
  s.pzxid = n.counters.pzxid;
  return s;
}

bool dirty_list::add(node& n) {
  if (n.*position_ != 0) return false;
  nodes_.push_back(&n);
  n.*position_ = static_cast<std::uint32_t>(nodes_.size());
  ++count_;
  return true;
}

bool dirty_list::remove(node& n) {
  if (n.*position_ == 0) return false;
  nodes_[n.*position_ - 1] = nullptr;
  n.*position_ = 0;
  --count_;
  while (!nodes_.empty() && nodes_.back() == nullptr) nodes_.pop_back();
  return true;
}

tree::tree(std::vector<image::node> stored_nodes) {
  if (stored_nodes.empty())
    load(system_nodes(), false);
  else
    load(std::move(stored_nodes), true);
}

// The nodes are sorted. So the parent of the next node is nearly always the last node or one of its
// ancestors, and a new name is the last one in its set.
void tree::load(std::vector<image::node> sorted, bool stored) {
  nodes_.reserve(sorted.size());
  node* last = nullptr;
  for (auto& from : sorted) {
    if (from.children.creates == 0 && from.children.pzxid == 0)
      from.children.pzxid = from.row.czxid;
    auto& n = insert(std::move(from.path), std::move(from.row), from.children);
    n.stored = stored;
    if (!stored) dirty_rows_.add(n);
    if (last != nullptr) {
      const auto of = parent_path(n.path);
      n.parent = last;
      while (n.parent != nullptr && n.parent->path != of) n.parent = n.parent->parent;
      if (n.parent == nullptr) n.parent = find(of);  // "/a-b" lies between "/a" and "/a/b"
      n.parent->children.insert(n.parent->children.end(), n.name());
    }
    index(n);
    last = &n;
  }
}

node* tree::find(std::string_view path) {
  const auto i = nodes_.find(path);
  return i == nodes_.end() ? nullptr : &i->second;
}

std::size_t tree::count_below(std::string_view path) const {
  if (path == "/") return nodes_.size() - 1;
  const auto top = nodes_.find(path);
  if (top == nodes_.end()) return 0;
  std::size_t count = 0;
  std::vector<const node*> open{&top->second};
  std::string child;
  while (!open.empty()) {
    const auto* n = open.back();
    open.pop_back();
    count += n->children.size();
    for (const auto name : n->children) {
      child.assign(n->path).append("/").append(name);
      const auto& found = nodes_.find(child)->second;
      if (!found.children.empty()) open.push_back(&found);
    }
  }
  return count;
}

std::vector<std::string> tree::ephemerals_of(std::int64_t session) const {
  const auto i = ephemerals_.find(session);
  if (i == ephemerals_.end()) return {};
  return {i->second.begin(), i->second.end()};
}

std::vector<std::string> tree::reapable(std::int64_t wall_ms) const {
  std::vector<std::string> paths;
  for (const auto* n : containers_)
    if (n->children.empty() && n->counters.creates != 0) paths.emplace_back(n->path);
  for (const auto* n : ttls_)
    if (n->children.empty() && wall_ms - n->row.mtime_ms > n->row.ttl_ms)
      paths.emplace_back(n->path);
  std::sort(paths.begin(), paths.end());  // the order of the sets depends on addresses
  return paths;
}

node& tree::insert(std::string path, node_row row, children_row counters) {
  const auto [i, is_new] = nodes_.try_emplace(std::move(path));
  auto& n = i->second;
  n.row = std::move(row);
  n.counters = counters;
  n.path = i->first;
  return n;
}

void tree::index(node& n) {
  data_size_ += size_of(n);
  switch (n.row.kind) {
    case node_kind::persistent: break;
    case node_kind::ephemeral: {
      auto& of_session = ephemerals_[n.row.owner];
      of_session.insert(of_session.end(), n.path);
      ++ephemeral_count_;
      break;
    }
    case node_kind::container: containers_.insert(&n); break;
    case node_kind::ttl: ttls_.insert(&n); break;
  }
}

void tree::unindex(node& n) {
  data_size_ -= size_of(n);
  switch (n.row.kind) {
    case node_kind::persistent: break;
    case node_kind::ephemeral: {
      const auto of_session = ephemerals_.find(n.row.owner);
      of_session->second.erase(n.path);
      if (of_session->second.empty()) ephemerals_.erase(of_session);
      --ephemeral_count_;
      break;
    }
    case node_kind::container: containers_.erase(&n); break;
    case node_kind::ttl: ttls_.erase(&n); break;
  }
}

tree::counters_change tree::change_counters(node& parent, std::int64_t zxid) {
  const counters_change c{parent.counters, dirty_counters_.add(parent)};
  parent.counters.pzxid = zxid;
  return c;
}

void tree::revert_counters(node& parent, const counters_change& c) {
  parent.counters = c.before;
  if (c.was_clean) dirty_counters_.remove(parent);
}

node& tree::create(node& parent, std::string path, node_row row) {
  const auto zxid = row.czxid;
  auto& n = insert(std::move(path), std::move(row), {0, zxid});
  n.parent = &parent;
  parent.children.insert(n.name());
  const auto change = change_counters(parent, zxid);
  // Unsigned, so that the counter wraps without undefined behaviour.
  parent.counters.creates =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(parent.counters.creates) + 1);
  index(n);
  dirty_rows_.add(n);
  undo_log_.emplace_back(node_created{&n, change});
  return n;
}

void tree::remove(node& n, std::int64_t zxid) {
  auto& parent = *n.parent;
  parent.children.erase(n.name());
  const auto change = change_counters(parent, zxid);
  unindex(n);
  const bool row_was_dirty = dirty_rows_.remove(n);
  const bool counters_were_dirty = dirty_counters_.remove(n);
  if (n.stored) removed_paths_.emplace_back(n.path);
  undo_log_.emplace_back(node_removed{nodes_.extract(nodes_.find(n.path)), change, row_was_dirty,
                                      counters_were_dirty});
}

void tree::set_data(node& n, std::optional<std::string> data, std::int64_t zxid,
                    std::int64_t wall_ms) {
  data_size_ -= size_of(n);
  undo_log_.emplace_back(data_changed{change_row(n), std::move(n.row.data), n.row.mzxid,
                                      n.row.mtime_ms, n.row.version});
  n.row.data = std::move(data);
  n.row.mzxid = zxid;
  n.row.mtime_ms = wall_ms;
  n.row.version = static_cast<std::int32_t>(static_cast<std::uint32_t>(n.row.version) + 1);
  data_size_ += size_of(n);
}

void tree::set_acl(node& n, std::shared_ptr<const acl> access) {
  undo_log_.emplace_back(acl_changed{change_row(n), std::move(n.row.access), n.row.aversion});
  n.row.access = std::move(access);
  n.row.aversion = static_cast<std::int32_t>(static_cast<std::uint32_t>(n.row.aversion) + 1);
}

void tree::commit() { undo_log_.clear(); }

// Also restores which rows are dirty.
void tree::rollback() {
  struct reverter {
    tree& t;
    void operator()(node_created& s) {
      auto& n = *s.what;
      t.unindex(n);
      t.dirty_rows_.remove(n);
      t.dirty_counters_.remove(n);
      n.parent->children.erase(n.name());
      t.revert_counters(*n.parent, s.of_parent);
      t.nodes_.erase(t.nodes_.find(n.path));
    }
    void operator()(node_removed& s) {
      auto& n = t.nodes_.insert(std::move(s.what)).position->second;
      n.parent->children.insert(n.name());
      t.revert_counters(*n.parent, s.of_parent);
      t.index(n);
      if (n.stored) t.removed_paths_.pop_back();
      if (s.row_was_dirty) t.dirty_rows_.add(n);
      if (s.counters_were_dirty) t.dirty_counters_.add(n);
    }
    void operator()(data_changed& s) {
      auto& n = *s.of_node.what;
      t.data_size_ -= size_of(n);
      n.row.data = std::move(s.data);
      n.row.mzxid = s.mzxid;
      n.row.mtime_ms = s.mtime_ms;
      n.row.version = s.version;
      t.data_size_ += size_of(n);
      if (s.of_node.was_clean) t.dirty_rows_.remove(n);
    }
    void operator()(acl_changed& s) {
      auto& n = *s.of_node.what;
      n.row.access = std::move(s.access);
      n.row.aversion = s.aversion;
      if (s.of_node.was_clean) t.dirty_rows_.remove(n);
    }
  };
  for (; !undo_log_.empty(); undo_log_.pop_back()) std::visit(reverter{*this}, undo_log_.back());
}

void tree::shrink() {
  server_impl::shrink(nodes_);
  server_impl::shrink(ephemerals_);
  server_impl::shrink(containers_);
  server_impl::shrink(ttls_);
  server_impl::shrink(undo_log_);
  dirty_rows_.shrink();
  dirty_counters_.shrink();
}

void tree::take_dirty(batch& out) {
  out.removed_nodes = std::move(removed_paths_);
  removed_paths_.clear();
  dirty_rows_.take([&](node& n) {
    out.nodes.push_back({n.path, &n.row});
    n.stored = true;
  });
  dirty_counters_.take([&](node& n) { out.parents.push_back({n.path, n.counters}); });
}

}  // namespace conclave::server_impl
