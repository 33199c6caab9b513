#include "cli/inventory/unused.hpp"

#include <algorithm>
#include <set>

#include "cli/inventory/names.hpp"
#include "cli/inventory/request_all.hpp"
#include "cli/inventory/tree.hpp"

namespace conclave::cli {
namespace {

using clock = std::chrono::system_clock;

constexpr std::int32_t longest_record = 64;

clock::time_point last_change(const node_stat& s) {
  return clock::time_point{std::chrono::milliseconds{std::max(s.ctime, s.mtime)}};
}

bool is_protected(const std::string& path) {
  return path == "/" || path == "/conclave" || path == "/zookeeper" ||
         path.starts_with("/zookeeper/");
}

class unused_node_finder {
 public:
  unused_node_finder(client& zk, const node_tree& tree, clock::time_point before)
      : tree_{tree}, before_{before} {
    read_records(zk);
  }

  std::vector<unused_node> run() {
    // In reverse order, a node comes after its children and after its siblings.
    for (auto at = tree_.nodes.rbegin(); at != tree_.nodes.rend(); ++at)
      if (is_unused(at->first, at->second)) add(at->first, at->second.stat);
    return std::move(found_);
  }

 private:
  // Finds the nodes whose data are a parent record of this library.
  void read_records(client& zk) {
    std::vector<std::string> paths;
    for (const auto& [path, node] : tree_.nodes)
      if (node.stat.data_length > 0 && node.stat.data_length <= longest_record)
        paths.push_back(path);
    const auto answers = get_all(zk, paths);
    for (std::size_t i = 0; i < paths.size(); ++i)
      if (!answers[i].ec && answers[i].value.data.starts_with(lock_record)) locks_.insert(paths[i]);
  }

  bool is_unused(const std::string& path, const children_result& node) const {
    const auto& s = node.stat;
    if (is_protected(path) || s.ephemeral_owner != 0 || last_change(s) > before_) return false;
    if (s.data_length != 0 && !locks_.contains(path)) return false;
    // A node that never had children may be anything, unless it belongs to a queue.
    if (s.cversion == 0 && !is_queue_sibling(path)) return false;
    if (is_created_once(path)) return false;
    if (const auto sibling = path + std::string{queue_sibling_suffix};
        tree_.find(sibling) != nullptr && !unused_.contains(sibling))
      return false;  // the queue is still in use
    return std::all_of(node.names.begin(), node.names.end(),
                       [&](const auto& name) { return unused_.contains(child_path(path, name)); });
  }

  static bool is_queue_sibling(const std::string& path) {
    return sibling_owner(path, queue_sibling_suffix) ||
           sibling_owner(parent_path(path), queue_sibling_suffix);
  }

  // kazoo's LockingQueue creates its folders at its start and needs them later.
  bool is_created_once(const std::string& path) const {
    const auto name = last_name(path);
    if (name != "entries" && name != "taken") return false;
    const auto parent = parent_path(path);
    return tree_.find(child_path(parent, "entries")) != nullptr &&
           tree_.find(child_path(parent, "taken")) != nullptr;
  }

  unused_node::kind kind_of(const std::string& path) const {
    if (is_queue_sibling(path) || tree_.find(path + std::string{queue_sibling_suffix}) != nullptr)
      return unused_node::kind::queue;
    const bool has_leases = tree_.find(child_path(path, "leases")) != nullptr &&
                            tree_.find(child_path(path, "locks")) != nullptr;
    const auto name = last_name(path);
    const auto parent = parent_path(path);
    const bool is_part = (name == "locks" && tree_.find(child_path(parent, "leases")) != nullptr) ||
                         (name == "leases" && tree_.find(child_path(parent, "locks")) != nullptr);
    if (has_leases || is_part) return unused_node::kind::semaphore;
    return locks_.contains(path) ? unused_node::kind::lock : unused_node::kind::folder;
  }

  void add(const std::string& path, const node_stat& s) {
    unused_.insert(path);
    found_.push_back({path, kind_of(path), s.version, last_change(s)});
  }

  const node_tree& tree_;
  const clock::time_point before_;
  std::set<std::string> locks_, unused_;
  std::vector<unused_node> found_;
};

removal outcome_of(const error_code& ec) {
  using what = removal::outcome;
  // Removed already: by the server (a container) or by another client.
  if (!ec || ec == errc::no_node) return {what::removed, {}};
  if (ec == errc::not_empty || ec == errc::bad_version) return {what::in_use, ec};
  return {what::refused, ec};
}

}  // namespace

const char* to_string(unused_node::kind k) noexcept {
  switch (k) {
    case unused_node::kind::lock: return "lock";
    case unused_node::kind::semaphore: return "semaphore";
    case unused_node::kind::queue: return "queue";
    case unused_node::kind::folder: return "folder";
  }
  return "";
}

unused_nodes find_unused(client& zk, const std::vector<std::string>& roots,
                         clock::time_point before) {
  auto tree = read_tree(zk, with_siblings(roots), known_names{});
  return {unused_node_finder{zk, tree, before}.run(), std::move(tree.unreadable)};
}

std::vector<removal> remove_unused(client& zk, const std::vector<unused_node>& nodes) {
  // The server processes requests in order, so children are removed before their parents.
  std::vector<removal> all;
  const auto answers =
      request_all<bool>(zk, nodes.size(), "remove nodes", [&](std::size_t i, auto done) {
        zk.async_remove(nodes[i].path, nodes[i].version,
                        [done = std::move(done)](error_code ec) mutable { done(ec, true); });
      });
  for (const auto& a : answers) all.push_back(outcome_of(a.ec));
  return all;
}

}  // namespace conclave::cli
