// `conclave znode get`
#include <unistd.h>

#include <iostream>

#include "cli/commands/znode/znode.hpp"
#include "cli/connect/connection.hpp"
#include "cli/show/node.hpp"

namespace conclave::cli::znode {
namespace {

struct get_flags : common_flags {
  bool stat = false;
};

int get(get_flags& f, const invocation&) {
  connection c{f.connect};
  const auto [data, stat] = c.zk().get(f.node());
  if (f.json) {
    json::object o{{"path", f.node()}};
    add_data(o, data);
    o["stat"] = stat_json(stat);
    print(o);
    return 0;
  }
  std::cout << data;
  // Prints exactly the bytes. On a terminal, or before the metadata, adds a missing newline.
  if ((f.stat || ::isatty(STDOUT_FILENO) == 1) && !data.empty() && data.back() != '\n')
    std::cout << "\n";
  if (f.stat) print_stat(std::cout, stat);
  return 0;
}

}  // namespace

void describe_get(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<get_flags>();
  app.description("Print a node's data, byte for byte.");
  app.footer(
      "Examples:\n"
      "  conclave znode get /config/colour\n"
      "  conclave znode get --json /config/colour | jq -r .stat.version");
  app.add_flag("--stat", flags->stat, "also print the metadata, as `znode stat` does");
  add_json_flag(app, *flags, "one line of JSON: data (or base64 if it is not text) and stat");
  add_common_flags(app, *flags);
  when_used(app, call, flags, get);
}

}  // namespace conclave::cli::znode
