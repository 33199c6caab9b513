// `conclave znode`: reads and writes individual nodes, as zkCli does.
#include "cli/commands/znode/znode.hpp"

#include "cli/command.hpp"

namespace conclave::cli {

void znode::add_common_flags(CLI::App& app, common_flags& f) {
  auto* const path = app.add_option("PATH", f.path,
                                    "path of the node; without a leading /, it is below /conclave");
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
  using describe = void (*)(CLI::App&, invocation&);
  static constexpr std::pair<const char*, describe> all[]{
      {"ls", describe_ls},     {"tree", describe_tree},     {"get", describe_get},
      {"set", describe_set},   {"create", describe_create}, {"rm", describe_rm},
      {"stat", describe_stat}, {"watch", describe_watch},   {"acl", describe_acl},
  };
  app.description("Read and write single nodes. A path without a leading / is below /conclave.");
  app.footer(
      "Examples:\n"
      "  conclave znode tree\n"
      "  conclave znode get /config/colour\n"
      "  echo blue | conclave znode set /config/colour -\n"
      "  conclave znode rm -r /old");
  app.require_subcommand(1);
  for (const auto& [name, describes] : all) describes(*app.add_subcommand(name), call);
}

}  // namespace conclave::cli
