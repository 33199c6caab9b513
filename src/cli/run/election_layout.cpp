#include "cli/run/election_layout.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <vector>

namespace conclave::cli {
namespace {

const std::vector<std::string>& flags() {
  static const std::vector<std::string> all{"election", "leader-latch", "curator", "kazoo"};
  return all;
}

// Returns the layout of this node, as a value of --layout if there is one.
std::string layout_of(std::string_view node) {
  for (const auto& flag : flags())
    if (election_layout(flag).parse(node)) return flag;
  return layout::known_as(node);
}

}  // namespace

layout election_layout(const std::string& text) {
  if (text == "leader-latch") return layout::leader_latch();
  if (text == "curator") return layout::curator();
  if (text == "kazoo") return layout::kazoo();
  return layout::election();
}

failure election_disagreement(client& zk, const std::string& command, const std::string& path,
                              const std::string& flag) {
  const auto what = command + ' ' + path + ": ";
  try {
    auto nodes = zk.children(path).names;
    std::sort(nodes.begin(), nodes.end());
    for (const auto& node : nodes) {
      if (election_layout(flag).parse(node) || !layout::in_known_layout(node)) continue;
      const auto found = layout_of(node);
      const bool known = std::find(flags().begin(), flags().end(), found) != flags().end();
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
      ->check(CLI::IsMember(flags()))
      ->type_name("L")
      ->capture_default_str();
}

}  // namespace conclave::cli
