#include <algorithm>
#include <set>

#include "client/inspect/read_many.hpp"
#include "client/inspect/tree.hpp"
#include "conclave/inspect.hpp"
#include "recipes/parent_record.hpp"
#include "recipes/queue/names.hpp"
#include "recipes/semaphore_names.hpp"

namespace conclave {
namespace {

using client_impl::child_path;
using client_impl::last_name;
using client_impl::node_tree;
using client_impl::parent_path;
using client_impl::queue_sibling_suffix;
using client_impl::recipe_of_sibling;

using clock = std::chrono::system_clock;

constexpr std::int32_t longest_record = 64;

clock::time_point last_change(const node_stat& s) {
  return clock::time_point{std::chrono::milliseconds{std::max(s.ctime, s.mtime)}};
}

bool is_kept(const std::string& path) {
  return path == "/" || path == "/conclave" || path == "/zookeeper" ||
         path.starts_with("/zookeeper/");
}

class unused_finder {
 public:
  unused_finder(client& c, const node_tree& tree, clock::time_point before)
      : tree_{tree}, before_{before} {
    read_records(c);
  }

  std::vector<unused_node> run() {
    // In reverse order, a node comes after its children and after the sibling nodes that belong to
    // it.
    for (auto at = tree_.nodes.rbegin(); at != tree_.nodes.rend(); ++at)
      if (is_unused(at->first, at->second)) add(at->first, at->second.stat);
    return std::move(found_);
  }

 private:
  // Finds the nodes whose data is a parent record of this library.
  void read_records(client& c) {
    std::vector<std::string> paths;
    for (const auto& [path, node] : tree_.nodes)
      if (node.stat.data_length > 0 && node.stat.data_length <= longest_record)
        paths.push_back(path);
    const auto replies = client_impl::get_all(c, paths);
    for (std::size_t i = 0; i < paths.size(); ++i)
      if (!replies[i].ec && recipes::is_parent_record(replies[i].value.data))
        locks_.insert(paths[i]);
  }

  bool is_unused(const std::string& path, const children_result& node) const {
    const auto& s = node.stat;
    if (is_kept(path) || s.ephemeral_owner != 0 || last_change(s) > before_) return false;
    if (s.data_length != 0 && !locks_.contains(path)) return false;
    // A node that never had children may belong to any program, except beside a queue.
    if (s.cversion == 0 && !belongs_to_queue(path)) return false;
    if (is_made_once(path)) return false;
    if (const auto beside = path + std::string{queue_sibling_suffix};
        tree_.find(beside) != nullptr && !unused_.contains(beside))
      return false;  // the queue is still in use
    return std::all_of(node.names.begin(), node.names.end(),
                       [&](const auto& name) { return unused_.contains(child_path(path, name)); });
  }

  static bool belongs_to_queue(const std::string& path) {
    return recipe_of_sibling(path, queue_sibling_suffix) ||
           recipe_of_sibling(parent_path(path), queue_sibling_suffix);
  }

  // kazoo's LockingQueue creates its folders when it starts and needs them later.
  bool is_made_once(const std::string& path) const {
    const auto names = client_impl::names_of_queue(parent_path(path), queue_layout::kazoo_locking);
    if (path != names.items() && path != names.claims()) return false;
    return tree_.find(names.items()) != nullptr && tree_.find(names.claims()) != nullptr;
  }

  unused_node::kind kind_of(const std::string& path) const {
    if (belongs_to_queue(path) || tree_.find(path + std::string{queue_sibling_suffix}) != nullptr)
      return unused_node::kind::queue;
    const auto has = [&](const std::string& parent, std::string_view name) {
      return tree_.find(child_path(parent, name)) != nullptr;
    };
    const auto is_semaphore = [&](const std::string& p) {
      return has(p, recipes::locks_folder) && has(p, recipes::leases_folder);
    };
    const auto name = last_name(path);
    const bool is_part = name == recipes::locks_folder || name == recipes::leases_folder;
    if (is_semaphore(path) || (is_part && is_semaphore(parent_path(path))))
      return unused_node::kind::semaphore;
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
  // If the error is no_node, another client has already removed the node, or the server has removed
  // an empty container.
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

unused_nodes find_unused(client& c, const std::vector<std::string>& paths,
                         clock::time_point before) {
  auto tree = client_impl::read_tree(c, paths, client_impl::known_layouts{});
  return {unused_finder{c, tree, before}.run(), std::move(tree.unreadable)};
}

std::vector<removal> remove_unused(client& c, const std::vector<unused_node>& nodes) {
  // The server processes requests in order, so children are removed before their parents.
  const auto replies =
      client_impl::send_many<bool>(c, nodes.size(), "remove nodes", [&](std::size_t i, auto done) {
        c.async_remove(nodes[i].path, nodes[i].version,
                       [done = std::move(done)](error_code ec) mutable { done(ec, true); });
      });
  std::vector<removal> all;
  all.reserve(replies.size());
  for (const auto& r : replies) all.push_back(outcome_of(r.ec));
  return all;
}

}  // namespace conclave
