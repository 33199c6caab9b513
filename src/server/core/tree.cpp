#include "server/core/tree.hpp"

#include <algorithm>

#include "server/core/node_path.hpp"

namespace conclave::server_impl {
namespace {

std::int64_t size_of(const node& n) {
  return static_cast<std::int64_t>(n.path.size() + (n.row.data ? n.row.data->size() : 0));
}

}  // namespace

node_stat stat_of(const node& n) {
  node_stat s;
  s.czxid = n.row.czxid;
  s.mzxid = n.row.mzxid;
  s.ctime = n.row.ctime_ms;
  s.mtime = n.row.mtime_ms;
  s.version = n.row.version;
  // Clients count changes: each create, and for each child that is gone its removal.
  s.cversion = static_cast<std::int32_t>(2u * static_cast<std::uint32_t>(n.counters.creates) -
                                         static_cast<std::uint32_t>(n.children.size()));
  s.aversion = n.row.aversion;
  s.ephemeral_owner = n.row.kind == node_kind::ephemeral ? n.row.owner : 0;
  s.data_length = n.row.data ? static_cast<std::int32_t>(n.row.data->size()) : 0;
  s.num_children = static_cast<std::int32_t>(n.children.size());
  s.pzxid = n.counters.pzxid;
  return s;
}

tree::tree(std::vector<image::node> kept) {
  nodes_.reserve(kept.size() + 4);
  if (kept.empty()) {
    const auto open = std::make_shared<const acl>(acl{{31, "world", "anyone"}});
    const auto readable = std::make_shared<const acl>(acl{{1, "world", "anyone"}});
    for (const std::string_view path :
         {"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"}) {
      node_row row;
      row.data = "";
      const bool is_config = path == "/zookeeper/config";
      row.access = is_config ? readable : open;
      if (is_config) row.aversion = -1;  // as Apache's server has it
      row_changed(insert(std::string{path}, std::move(row), {}));
    }
  } else {
    for (auto& k : kept) {
      if (k.children.creates == 0 && k.children.pzxid == 0) k.children.pzxid = k.row.czxid;
      insert(std::move(k.path), std::move(k.row), k.children).stored = true;
    }
  }
  for (auto& [path, n] : nodes_) {
    if (path != "/") {
      n.parent = &nodes_.find(parent_path(path))->second;
      n.parent->children.insert(n.name());
    }
    index(n);
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
  std::sort(paths.begin(), paths.end());  // the sets' order depends on addresses
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
    case node_kind::ephemeral:
      ephemerals_[n.row.owner].insert(n.path);
      ++ephemeral_count_;
      break;
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

bool tree::row_changed(node& n) {
  if (n.unwritten_row != 0) return false;
  unwritten_rows_.push_back(&n);
  n.unwritten_row = static_cast<std::uint32_t>(unwritten_rows_.size());
  ++rows_;
  return true;
}

bool tree::counters_changed(node& n) {
  if (n.unwritten_counters != 0) return false;
  unwritten_counters_.push_back(&n);
  n.unwritten_counters = static_cast<std::uint32_t>(unwritten_counters_.size());
  ++counters_;
  return true;
}

void tree::row_unchanged(node& n) {
  if (n.unwritten_row == 0) return;
  unwritten_rows_[n.unwritten_row - 1] = nullptr;
  n.unwritten_row = 0;
  --rows_;
  while (!unwritten_rows_.empty() && unwritten_rows_.back() == nullptr) unwritten_rows_.pop_back();
}

void tree::counters_unchanged(node& n) {
  if (n.unwritten_counters == 0) return;
  unwritten_counters_[n.unwritten_counters - 1] = nullptr;
  n.unwritten_counters = 0;
  --counters_;
  while (!unwritten_counters_.empty() && unwritten_counters_.back() == nullptr)
    unwritten_counters_.pop_back();
}

node& tree::create(node& parent, std::string path, node_row row) {
  const children_row before = parent.counters;
  const auto zxid = row.czxid;
  auto& n = insert(std::move(path), std::move(row), {0, zxid});
  n.parent = &parent;
  parent.children.insert(n.name());
  // Beyond the greatest sequence number it goes on at the lowest.
  parent.counters.creates =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(parent.counters.creates) + 1);
  parent.counters.pzxid = zxid;
  index(n);
  row_changed(n);
  steps_.emplace_back(created{&n, before, counters_changed(parent)});
  return n;
}

void tree::remove(node& n, std::int64_t zxid) {
  auto& parent = *n.parent;
  const children_row before = parent.counters;
  parent.children.erase(n.name());
  parent.counters.pzxid = zxid;
  const bool first = counters_changed(parent);
  const bool row_unwritten = n.unwritten_row != 0;
  const bool counters_unwritten = n.unwritten_counters != 0;
  unindex(n);
  row_unchanged(n);
  counters_unchanged(n);
  const bool listed = n.stored;
  if (listed) removed_.emplace_back(n.path);
  steps_.emplace_back(removed{nodes_.extract(nodes_.find(n.path)), before, first, listed,
                              row_unwritten, counters_unwritten});
}

void tree::set_data(node& n, std::optional<std::string> data, std::int64_t zxid,
                    std::int64_t wall_ms) {
  data_size_ -= size_of(n);
  steps_.emplace_back(data_set{&n, std::move(n.row.data), n.row.mzxid, n.row.mtime_ms,
                               n.row.version, row_changed(n)});
  n.row.data = std::move(data);
  n.row.mzxid = zxid;
  n.row.mtime_ms = wall_ms;
  n.row.version = static_cast<std::int32_t>(static_cast<std::uint32_t>(n.row.version) + 1);
  data_size_ += size_of(n);
}

void tree::set_acl(node& n, std::shared_ptr<const acl> access) {
  steps_.emplace_back(acl_set{&n, std::move(n.row.access), n.row.aversion, row_changed(n)});
  n.row.access = std::move(access);
  n.row.aversion = static_cast<std::int32_t>(static_cast<std::uint32_t>(n.row.aversion) + 1);
}

void tree::keep() { steps_.clear(); }

// What was to be written before it still is, and nothing else.
void tree::undo() {
  struct taking_back {
    tree& t;
    void operator()(created& s) {
      auto& n = *s.what;
      t.unindex(n);
      t.row_unchanged(n);
      t.counters_unchanged(n);
      n.parent->children.erase(n.name());
      n.parent->counters = s.parent_before;
      if (s.first) t.counters_unchanged(*n.parent);
      t.nodes_.erase(t.nodes_.find(n.path));
    }
    void operator()(removed& s) {
      auto& n = t.nodes_.insert(std::move(s.what)).position->second;
      n.parent->children.insert(n.name());
      n.parent->counters = s.parent_before;
      if (s.first) t.counters_unchanged(*n.parent);
      t.index(n);
      if (s.listed) t.removed_.pop_back();
      if (s.row_unwritten) t.row_changed(n);
      if (s.counters_unwritten) t.counters_changed(n);
    }
    void operator()(data_set& s) {
      auto& n = *s.what;
      t.data_size_ -= size_of(n);
      n.row.data = std::move(s.data);
      n.row.mzxid = s.mzxid;
      n.row.mtime_ms = s.mtime_ms;
      n.row.version = s.version;
      t.data_size_ += size_of(n);
      if (s.first) t.row_unchanged(n);
    }
    void operator()(acl_set& s) {
      s.what->row.access = std::move(s.access);
      s.what->row.aversion = s.aversion;
      if (s.first) t.row_unchanged(*s.what);
    }
  };
  for (; !steps_.empty(); steps_.pop_back()) std::visit(taking_back{*this}, steps_.back());
}

void tree::take_unwritten(batch& out) {
  out.removed_nodes = std::move(removed_);
  removed_.clear();
  for (auto* n : unwritten_rows_) {
    if (n == nullptr) continue;
    out.nodes.push_back({n->path, &n->row});
    n->stored = true;
    n->unwritten_row = 0;
  }
  for (auto* n : unwritten_counters_) {
    if (n == nullptr) continue;
    out.parents.push_back({n->path, n->counters});
    n->unwritten_counters = 0;
  }
  unwritten_rows_.clear();
  unwritten_counters_.clear();
  rows_ = 0;
  counters_ = 0;
}

}  // namespace conclave::server_impl
