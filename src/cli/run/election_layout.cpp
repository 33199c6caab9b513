#include "cli/run/election_layout.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

namespace conclave::cli {
namespace {

const std::vector<layout>& layouts() {
  static const std::vector<layout> all{layout::election(), layout::leader_latch(),
                                       layout::curator(), layout::kazoo()};
  return all;
}

std::vector<std::string> layout_names() {
  std::vector<std::string> all;
  for (const auto& l : layouts()) all.push_back(l.name());
  return all;
}

}  // namespace

layout election_layout(const std::string& text) {
  for (const auto& l : layouts())
    if (l.name() == text) return l;
  return layout::election();
}

failure election_disagreement(client& zk, const std::string& command, const std::string& path,
                              const std::string& flag) {
  const auto what = command + ' ' + path + ": ";
  try {
    auto nodes = zk.children(path).names;
    std::sort(nodes.begin(), nodes.end());
    const auto own_layout = election_layout(flag);
    for (const auto& node : nodes) {
      if (own_layout.parse_for(layout::role::exclusive, node) || !layout::in_known_layout(node))
        continue;
      if (own_layout.parse(node))
        return {disagrees, what + own_layout.explain_mismatch(node) + "; use another path"};
      const auto found = layout::known_as(node);
      const bool known = election_layout(found).name() == found;
      return {disagrees, what + "node " + node + " has the layout " + found +
                             ", but this command has the layout " + flag +
                             (known ? "; pass --layout " + found : "; use another path")};
    }
  } catch (const error&) {
    // The nodes have changed in the meantime, or we are not permitted to read them.
  }
  return {disagrees, what + error_code{errc::layout_mismatch}.message()};
}

void add_election_layout(CLI::App& app, std::string& text) {
  app.add_option("--layout", text,
                 "names of nodes, to share the election with other programs: election (ZooKeeper's "
                 "recipe), leader-latch or curator (Curator's LeaderLatch, LeaderSelector), kazoo")
      ->check(CLI::IsMember(layout_names()))
      ->type_name("L")
      ->capture_default_str();
}

}  // namespace conclave::cli
