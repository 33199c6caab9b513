// `conclave znode acl`
#include <iostream>
#include <limits>

#include "cli/commands/znode/znode.hpp"
#include "cli/connect/connection.hpp"
#include "cli/nodes/acl_text.hpp"
#include "cli/show/json.hpp"

namespace conclave::cli::znode {
namespace {

struct acl_flags : common_flags {
  std::string new_acl;
  std::int32_t version = any_version;
};

int acl(acl_flags& f, const invocation&) {
  if (!f.new_acl.empty()) {
    auto list = parse_acl(f.new_acl);
    connection c{f.connect};
    c.zk().set_acl(f.node(), std::move(list), f.version);
    return 0;
  }
  connection c{f.connect};
  const auto found = c.zk().get_acl(f.node());
  if (f.json) {
    json::array list;
    for (const auto& e : found.acl)
      list.push_back(json::object{
          {"scheme", e.scheme}, {"id", e.id}, {"permissions", permissions_text(e.permissions)}});
    print(json::object{
        {"path", f.node()}, {"acl", std::move(list)}, {"aversion", found.stat.aversion}});
  } else {
    for (const auto& e : found.acl) std::cout << to_text(e) << "\n";
  }
  return 0;
}

}  // namespace

void describe_acl(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<acl_flags>();
  app.description(
      "Print or set the ACL of a node. Its entries are SCHEME:ID:PERMISSIONS. The permissions are\n"
      "c (create children), d (delete children), r (read), w (write) and a (set the ACL).");
  app.footer(
      "Examples:\n"
      "  conclave znode acl /config\n"
      "  conclave znode acl /config --set "
      "world:anyone:r,digest:ops:Zt1XbbQzAFsOtz6wYWLRLmBAvhU=:cdrwa\n"
      "  conclave znode acl /config --set auth::cdrwa --auth-file ~/.zk-auth   (only this user)");
  add_common_flags(app, *flags);
  auto* const set = app.add_option("--set", flags->new_acl, "set the ACL")->type_name("ACL");
  app.add_option("--version", flags->version, "set only if this is the ACL's current version")
      ->type_name("N")
      ->check(CLI::Range{0, std::numeric_limits<std::int32_t>::max()})
      ->needs(set);
  app.add_flag("--json", flags->json, "one line of JSON")->excludes(set);
  when_used(app, call, flags, acl);
}

}  // namespace conclave::cli::znode
