// `conclave znode set`
#include <limits>

#include "cli/commands/znode/data_source.hpp"
#include "cli/commands/znode/znode.hpp"
#include "cli/connect/connection.hpp"
#include "cli/exit_code.hpp"
#include "cli/show/node.hpp"

namespace conclave::cli::znode {
namespace {

struct set_flags : common_flags {
  data_source data;
  std::int32_t version = any_version;
};

int set(set_flags& f, const invocation&) {
  if (!f.data.given())
    throw failure{usage, "there is no data to write; pass DATA, --file FILE, or - for stdin"};
  auto data = f.data.read();
  connection c{f.connect};
  const auto stat = c.zk().set(f.node(), std::move(data), f.version);
  if (f.json) print(json::object{{"path", f.node()}, {"stat", stat_json(stat)}});
  return 0;
}

}  // namespace

void describe_set(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<set_flags>();
  app.description("Replace the data of an existing node.");
  app.footer(
      "Examples:\n"
      "  conclave znode set /config/colour blue\n"
      "  conclave znode set /config/list --file list.txt\n"
      "  sort names | conclave znode set /config/names -\n"
      "  conclave znode set --version 3 /config/colour red     (only if the version is 3)");
  add_common_flags(app, *flags);
  add_data_flags(app, flags->data);
  app.add_option("--version", flags->version, "write only if this is the node's current version")
      ->type_name("N")
      ->check(CLI::Range{0, std::numeric_limits<std::int32_t>::max()});
  add_json_flag(app, *flags, "one line of JSON: path and new stat");
  when_used(app, call, flags, set);
}

}  // namespace conclave::cli::znode
