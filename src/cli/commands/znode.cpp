// `conclave znode`: reads and writes single nodes, as zkCli does.
#include "cli/commands/znode/znode.hpp"

#include "cli/commands/commands.hpp"

namespace conclave::cli {

void znode::add_common_flags(CLI::App& app, common_flags& f) {
  auto* const path =
      app.add_option("PATH", f.path, "the node; one that does not begin with / is below /conclave");
  if (f.path.empty())
    path->required();
  else
    path->capture_default_str();
  add_connect_flags(app, f.connect);
}

void znode::add_json_flag(CLI::App& app, common_flags& f, const char* what) {
  app.add_flag("--json", f.json, what);
}

void describe_znode(CLI::App& app, invocation& call) {
  using namespace znode;
  static constexpr command all[]{
      {"ls", "the names of a node's children", describe_ls},
      {"tree", "a node and everything below it", describe_tree},
      {"get", "a node's data", describe_get},
      {"set", "write a node's data", describe_set},
      {"create", "make a node", describe_create},
      {"rm", "remove nodes", describe_rm},
      {"stat", "a node's versions, times and owner", describe_stat},
      {"watch", "tell each change of a node", describe_watch},
      {"acl", "who may do what with a node", describe_acl},
  };
  app.description(
      "Look at and change single nodes. A path that does not begin with / is below "
      "/conclave.");
  app.footer(
      "Examples:\n"
      "  conclave znode tree\n"
      "  conclave znode get /config/colour\n"
      "  echo blue | conclave znode set /config/colour -\n"
      "  conclave znode rm -r /old");
  app.require_subcommand(1);
  for (const auto& c : all) c.describe(*app.add_subcommand(c.name, c.summary), call);
}

}  // namespace conclave::cli
