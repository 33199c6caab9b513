#include "cli/run/election_layout.hpp"

#include <CLI/CLI.hpp>

namespace conclave::cli {

layout election_layout(const std::string& text) {
  if (text == "leader-latch") return layout::leader_latch();
  if (text == "curator") return layout::curator();
  if (text == "kazoo") return layout::kazoo();
  return layout::election();
}

void add_election_layout(CLI::App& app, std::string& text) {
  app.add_option("--layout", text,
                 "names of nodes, for sharing with other programs: election (ZooKeeper's recipe), "
                 "leader-latch or curator (Curator's LeaderLatch, LeaderSelector), kazoo")
      ->check(CLI::IsMember({"election", "leader-latch", "curator", "kazoo"}))
      ->type_name("L")
      ->capture_default_str();
}

}  // namespace conclave::cli
