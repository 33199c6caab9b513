// `conclave znode stat`
#include <iostream>

#include "cli/commands/znode/znode.hpp"
#include "cli/connect/connection.hpp"
#include "cli/exit_code.hpp"
#include "cli/show/node.hpp"

namespace conclave::cli::znode {
namespace {

int stat(common_flags& f, const invocation&) {
  connection c{f.connect};
  const auto found = c.zk().exists(f.node());
  if (!found) throw failure{failed, f.node() + ": no such node"};
  if (f.json) {
    json::object o{{"path", f.node()}};
    for (const auto& field : stat_json(*found)) o.insert(field);
    print(o);
  } else {
    print_stat(std::cout, *found);
  }
  return 0;
}

}  // namespace

void describe_stat(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<common_flags>();
  app.description(
      "Print a node's versions, times and owner. The exit code is 1 if the node does not exist.");
  app.footer("Example: conclave znode stat backups/db");
  add_json_flag(app, *flags);
  add_common_flags(app, *flags);
  when_used(app, call, flags, stat);
}

}  // namespace conclave::cli::znode
