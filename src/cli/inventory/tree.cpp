#include "cli/inventory/tree.hpp"

#include <algorithm>
#include <set>

#include "cli/inventory/request_all.hpp"

namespace conclave::cli {
namespace {

// Whether the children are bookkeeping of a queue: counters, positions in wait queues, items.
bool is_bookkeeping(const std::string& parent) {
  return parent != "/" && sibling_owner(parent_path(parent), queue_sibling_suffix).has_value();
}

bool is_a_leaf(const std::string& parent, const std::string& name, const known_names& names) {
  return is_queue_item(name) || names.parse(name) || is_bookkeeping(parent);
}

}  // namespace

node_tree read_tree(client& zk, const std::vector<std::string>& roots, const known_names& names) {
  node_tree tree;
  // A path that is given twice, or is below another one, is visited once.
  std::set<std::string> seen{roots.begin(), roots.end()};
  std::vector<std::string> level{seen.begin(), seen.end()};
  while (!level.empty()) {
    std::vector<std::string> next;
    auto answers = children_of_all(zk, level);
    for (std::size_t i = 0; i < level.size(); ++i) {
      if (answers[i].ec == errc::no_node) continue;
      if (answers[i].ec) {
        tree.unreadable.emplace_back(level[i], answers[i].ec);
        continue;
      }
      auto& found = answers[i].value;
      std::sort(found.names.begin(), found.names.end());
      for (const auto& name : found.names) {
        auto path = child_path(level[i], name);
        if (!is_a_leaf(level[i], name, names) && seen.insert(path).second)
          next.push_back(std::move(path));
      }
      tree.nodes.emplace(level[i], std::move(found));
    }
    level = std::move(next);
  }
  return tree;
}

}  // namespace conclave::cli
