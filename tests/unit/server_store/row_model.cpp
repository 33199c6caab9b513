#include "row_model.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

namespace conclave::testing {

using namespace server_impl;

namespace {

bool same(const node_row& a, const node_row& b) {
  const auto fields = [](const node_row& r) {
    return std::tie(r.data, *r.access, r.czxid, r.mzxid, r.ctime_ms, r.mtime_ms, r.version,
                    r.aversion, r.kind, r.owner, r.ttl_ms);
  };
  return fields(a) == fields(b);
}

std::shared_ptr<const acl> some_acl(std::mt19937_64& random) {
  static const std::array<std::shared_ptr<const acl>, 4> lists{
      std::make_shared<const acl>(acl{{31, "world", "anyone"}}),
      std::make_shared<const acl>(acl{{31, "digest", "bob:x8sd/+="}, {1, "world", "anyone"}}),
      std::make_shared<const acl>(acl{{-7, "o d:d%", std::string{"\0\xff %\n", 5}}}),
      std::make_shared<const acl>(acl{})};
  return lists[random() % lists.size()];
}

std::string some_data(std::mt19937_64& random) {
  const auto kind = random() % 20;
  std::string out(kind == 0 ? random() % 20000 : random() % 60, '\0');
  for (auto& c : out) c = static_cast<char>(random());
  return out;
}

std::string parent_of(const std::string& path) {
  return path.substr(0, std::max<std::size_t>(1, path.rfind('/')));
}

// Builds one batch: applies steps to a copy of the model and records the changed rows.
class batch_maker {
 public:
  batch_maker(const row_model& before, std::mt19937_64& random)
      : before_{before}, after_{before}, random_{random} {}

  owned_batch make() {
    for (auto steps = 1 + random_() % 8; steps > 0; --steps) {
      ++after_.zxid;
      if (after_.nodes.empty()) {
        add("/");
        continue;
      }
      switch (random_() % 8) {
        case 0:
        case 1:
        case 2: create(); break;
        case 3:
        case 4: change(); break;
        case 5: remove(some_node()); break;
        case 6: open_session(); break;
        default: close_session(); break;
      }
    }
    return result();
  }

 private:
  std::string some_node() {
    return std::next(after_.nodes.begin(), static_cast<long>(random_() % after_.nodes.size()))
        ->first;
  }

  void add(const std::string& path) {
    auto row = plain_node(after_.zxid);
    if (random_() % 3 == 0)
      row.data.reset();
    else
      row.data = some_data(random_);
    row.access = some_acl(random_);
    if (path != "/") {
      row.kind = static_cast<node_kind>(random_() % 4);
      if (row.kind == node_kind::ephemeral && after_.sessions.empty()) row.kind = node_kind::ttl;
      if (row.kind == node_kind::ephemeral) row.owner = after_.sessions.begin()->first;
      if (row.kind == node_kind::ttl) row.ttl_ms = 1 + static_cast<std::int64_t>(random_() % 1000);
    }
    after_.nodes[path] = row;
    touched_.insert(path);
  }

  void create() {
    const auto parent = some_node();
    if (after_.nodes[parent].kind == node_kind::ephemeral) return;
    const auto path = (parent == "/" ? "" : parent) + "/n" + std::to_string(random_() % 30);
    if (after_.nodes.contains(path)) return;
    add(path);
    count(parent, 1);
  }

  void count(const std::string& parent, int creates) {
    auto& row = after_.children[parent];
    row.creates += creates;
    row.pzxid = after_.zxid;
    touched_children_.insert(parent);
  }

  void change() {
    const auto path = some_node();
    auto& row = after_.nodes[path];
    row.data = some_data(random_);
    row.mzxid = after_.zxid;
    row.mtime_ms += 5;
    ++row.version;
    if (random_() % 4 == 0) {
      row.access = some_acl(random_);
      ++row.aversion;
    }
    touched_.insert(path);
  }

  void remove(const std::string& path) {
    const auto below = after_.nodes.lower_bound(path + '/');
    const bool has_children = below != after_.nodes.end() && below->first.starts_with(path + '/');
    if (path == "/" || has_children) return;
    after_.nodes.erase(path);
    after_.children.erase(path);
    touched_.insert(path);
    removed_.insert(path);
    count(parent_of(path), 0);
  }

  void open_session() {
    session_row s;
    s.id = static_cast<std::int64_t>(random_());
    s.timeout_ms = static_cast<std::int32_t>(random_() % 60000);
    for (auto& c : s.password) c = static_cast<char>(random_());
    after_.sessions[s.id] = s;
    touched_sessions_.insert(s.id);
  }

  void close_session() {
    if (after_.sessions.empty()) return;
    const auto id = after_.sessions.begin()->first;
    std::vector<std::string> its;
    for (const auto& [path, row] : after_.nodes) {
      if (row.kind == node_kind::ephemeral && row.owner == id) its.push_back(path);
    }
    for (const auto& path : its) remove(path);
    after_.sessions.erase(id);
    touched_sessions_.insert(id);
  }

  owned_batch result() {
    owned_batch out;
    auto& changes = out.changes;
    changes.zxid = after_.zxid;
    for (const auto& path : removed_) {
      if (before_.nodes.contains(path)) changes.removed_nodes.push_back(path);
    }
    for (const auto& path : touched_) {
      if (const auto i = after_.nodes.find(path); i != after_.nodes.end()) {
        out.put(path, i->second);
      }
    }
    for (const auto& path : touched_children_) {
      if (const auto i = after_.children.find(path); i != after_.children.end()) {
        changes.parents.push_back({after_.nodes.find(path)->first, i->second});
      }
    }
    for (const auto id : touched_sessions_) {
      if (const auto i = after_.sessions.find(id); i != after_.sessions.end()) {
        changes.sessions.push_back(i->second);
      } else if (before_.sessions.contains(id)) {
        changes.removed_sessions.push_back(id);
      }
    }
    // Their paths point into the model, which is destroyed.
    for (auto& parent : changes.parents) {
      parent.path = out.rows.emplace_back(std::string{parent.path}, node_row{}).first;
    }
    return out;
  }

  const row_model& before_;
  row_model after_;
  std::mt19937_64& random_;
  std::set<std::string> touched_;
  std::set<std::string> removed_;
  std::set<std::string> touched_children_;
  std::set<std::int64_t> touched_sessions_;
};

}  // namespace

row_model restored(row_model copy) {
  const auto is_ephemeral = [](const auto& n) { return n.second.kind == node_kind::ephemeral; };
  const bool none = std::none_of(copy.nodes.begin(), copy.nodes.end(), is_ephemeral);
  if (none && copy.sessions.empty()) return copy;
  ++copy.zxid;
  copy.sessions.clear();
  for (const auto& n : copy.nodes)
    if (is_ephemeral(n)) copy.children.at(parent_of(n.first)).pzxid = copy.zxid;
  std::erase_if(copy.nodes, is_ephemeral);
  return copy;
}

void row_model::apply(const batch& changes) {
  zxid = changes.zxid;
  for (const auto& path : changes.removed_nodes) {
    nodes.erase(path);
    children.erase(path);
  }
  for (const auto& [path, row] : changes.nodes) nodes[std::string{path}] = *row;
  for (const auto& [path, row] : changes.parents) children[std::string{path}] = row;
  for (const auto id : changes.removed_sessions) sessions.erase(id);
  for (const auto& s : changes.sessions) sessions[s.id] = s;
}

std::string difference(const row_model& expected, const image& found) {
  if (found.zxid != expected.zxid) {
    return "zxid " + std::to_string(found.zxid) + ", not " + std::to_string(expected.zxid);
  }
  if (found.nodes.size() != expected.nodes.size()) {
    return std::to_string(found.nodes.size()) + " nodes, not " +
           std::to_string(expected.nodes.size());
  }
  for (const auto& node : found.nodes) {
    const auto i = expected.nodes.find(node.path);
    if (i == expected.nodes.end()) return "a node too many: " + node.path;
    if (!same(i->second, node.row)) return "another row: " + node.path;
    const auto counted = expected.children.find(node.path);
    const auto children =
        counted != expected.children.end() ? counted->second : children_row{0, i->second.czxid};
    if (node.children != children) return "other children: " + node.path;
  }
  if (found.sessions.size() != expected.sessions.size()) return "other sessions";
  for (const auto& s : found.sessions) {
    const auto i = expected.sessions.find(s.id);
    if (i == expected.sessions.end() || i->second.timeout_ms != s.timeout_ms ||
        i->second.password != s.password) {
      return "another session";
    }
  }
  return {};
}

void owned_batch::put(std::string path, node_row row) {
  const auto& kept = rows.emplace_back(std::move(path), std::move(row));
  changes.nodes.push_back({kept.first, &kept.second});
}

node_row plain_node(std::int64_t zxid, std::string data) {
  static const auto open = std::make_shared<const acl>(acl{{31, "world", "anyone"}});
  node_row row;
  row.data = std::move(data);
  row.access = open;
  row.czxid = row.mzxid = zxid;
  row.ctime_ms = row.mtime_ms = 1'700'000'000'000;
  return row;
}

owned_batch first_batch(std::int64_t zxid) {
  owned_batch out;
  out.changes.zxid = zxid;
  out.put("/", plain_node(0));
  out.put("/a", plain_node(zxid, "first"));
  out.changes.parents.push_back({"/", {1, zxid}});
  return out;
}

owned_batch random_batch(const row_model& before, std::mt19937_64& random) {
  return batch_maker{before, random}.make();
}

}  // namespace conclave::testing
