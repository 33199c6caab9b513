// `conclave znode rm`
#include <limits>

#include "cli/commands/znode/znode.hpp"
#include "cli/connect/connection.hpp"
#include "cli/exit_code.hpp"
#include "cli/nodes/subtree.hpp"
#include "cli/raw_arguments.hpp"

namespace conclave::cli::znode {
namespace {

struct rm_flags {
  connect_flags connect;
  std::vector<std::string> paths;
  std::int32_t version = any_version;
  bool recursive = false, force = false;
};

void remove_one(client& zk, const rm_flags& f, const std::string& path) {
  try {
    if (!f.recursive) return zk.remove(path, f.version);
  } catch (const error& e) {
    if (e.code() == errc::no_node && f.force) return;
    if (e.code() == errc::not_empty)
      throw failure{failed, path + " has children; use -r to remove them"};
    throw;
  }
  if (!remove_tree(zk, path) && !f.force) throw failure{failed, path + ": no such node"};
}

int rm(rm_flags& f, const invocation&) {
  std::vector<std::string> paths;
  for (const auto& given : f.paths) {
    paths.push_back(node_path(given));
    // The server's own nodes are below these and cannot be removed, so the removal would stop
    // halfway.
    if (paths.back() == "/" || paths.back() == "/zookeeper")
      throw failure{usage, paths.back() + " cannot be removed; name the nodes below it"};
  }
  if (f.version != any_version && paths.size() > 1)
    throw failure{usage, "--version needs exactly one PATH"};
  connection c{f.connect};
  for (const auto& path : paths) remove_one(c.zk(), f, path);
  return 0;
}

}  // namespace

void describe_rm(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<rm_flags>();
  app.description("Remove nodes.");
  app.footer(
      "Examples:\n"
      "  conclave znode rm /config/colour\n"
      "  conclave znode rm -rf /old /older");
  add_raw_arguments(app, "PATH", flags->paths,
                    "paths of nodes; without a leading /, they are below /conclave")
      ->required();
  auto* const recursive =
      app.add_flag("-r,--recursive", flags->recursive, "also remove all descendants");
  app.add_flag("-f,--force", flags->force, "no error if the node does not exist");
  app.add_option("--version", flags->version, "remove only if this is the node's current version")
      ->type_name("N")
      ->check(CLI::Range{0, std::numeric_limits<std::int32_t>::max()})
      ->excludes(recursive);
  add_connect_flags(app, flags->connect);
  when_used(app, call, flags, rm);
}

}  // namespace conclave::cli::znode
