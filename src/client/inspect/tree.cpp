#include "client/inspect/tree.hpp"

#include <algorithm>
#include <set>

#include "client/inspect/read_many.hpp"

namespace conclave::client_impl {
namespace {

// Returns true if the children are internal nodes of a queue: counter nodes, entries of wait
// queues, items.
bool is_bookkeeping(const std::string& parent) {
  return parent != "/" && recipe_of_sibling(parent_path(parent), queue_sibling_suffix).has_value();
}

bool is_leaf(const std::string& parent, const std::string& name, const known_layouts& layouts) {
  return is_queue_item(name) || layouts.parse(name) || is_bookkeeping(parent);
}

}  // namespace

node_tree read_tree(client& c, const std::vector<std::string>& paths,
                    const known_layouts& layouts) {
  node_tree tree;
  const auto roots = inspected_paths(paths);
  // A path is visited only once, even if it is given twice or is below another path.
  std::set<std::string> seen{roots.begin(), roots.end()};
  std::vector<std::string> level{seen.begin(), seen.end()};
  while (!level.empty()) {
    std::vector<std::string> next;
    auto replies = list_all(c, level);
    for (std::size_t i = 0; i < level.size(); ++i) {
      if (replies[i].ec == errc::no_node) continue;
      if (replies[i].ec) {
        tree.unreadable.push_back({level[i], replies[i].ec});
        continue;
      }
      auto& found = replies[i].value;
      std::sort(found.names.begin(), found.names.end());
      for (const auto& name : found.names) {
        auto path = child_path(level[i], name);
        if (!is_leaf(level[i], name, layouts) && seen.insert(path).second)
          next.push_back(std::move(path));
      }
      tree.nodes.emplace(level[i], std::move(found));
    }
    level = std::move(next);
  }
  return tree;
}

}  // namespace conclave::client_impl
