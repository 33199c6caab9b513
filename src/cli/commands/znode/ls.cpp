// `conclave znode ls`
#include <algorithm>
#include <iostream>

#include "cli/commands/znode/znode.hpp"
#include "cli/connect/connection.hpp"
#include "cli/nodes/in_batches.hpp"
#include "cli/show/node.hpp"
#include "cli/show/table.hpp"

namespace conclave::cli::znode {
namespace {

struct ls_flags : common_flags {
  bool details = false;
};

struct child {
  std::string name;
  std::optional<node_stat> stat;
};

// Returns the children that still exist, with their metadata.
std::vector<child> with_stats(client& zk, const std::string& parent,
                              const std::vector<std::string>& names) {
  std::vector<child> all(names.size());
  std::vector<error_code> errors(names.size());
  const auto prefix = parent == "/" ? parent : parent + "/";
  in_batches(zk, all.size(), [&](std::size_t i, const auto& done) {
    all[i].name = names[i];
    zk.async_exists(prefix + names[i], [&to = all[i], &failed = errors[i], &done](
                                           error_code ec, std::optional<node_stat> s) {
      to.stat = s;
      failed = ec;
      done();
    });
  });
  for (std::size_t i = 0; i < all.size(); ++i)
    if (errors[i]) throw error{errors[i], "read " + prefix + names[i]};
  std::erase_if(all, [](const child& c) { return !c.stat; });
  return all;
}

void print_details(const std::vector<child>& children) {
  table t{{"changed", "version", "bytes", "children", "owner", "name"}, {1, 2, 3}};
  for (const auto& [name, s] : children)
    t.row({short_date(s->mtime), std::to_string(s->version), std::to_string(s->data_length),
           std::to_string(s->num_children),
           s->ephemeral_owner == 0 ? std::string{"-"} : hex(s->ephemeral_owner), name});
  t.print(std::cout);
}

int ls(ls_flags& f, const invocation&) {
  connection c{f.connect};
  const auto path = f.node();
  auto names = c.zk().children(path).names;
  std::sort(names.begin(), names.end());
  if (!f.details) {
    if (f.json)
      print(json::array(names.begin(), names.end()));
    else
      for (const auto& name : names) std::cout << name << "\n";
    return 0;
  }
  const auto children = with_stats(c.zk(), path, names);
  if (f.json) {
    json::array list;
    for (const auto& one : children) {
      json::object o{{"name", one.name}};
      for (const auto& field : stat_json(*one.stat)) o.insert(field);
      list.push_back(std::move(o));
    }
    print(list);
  } else if (!children.empty()) {
    print_details(children);
  }
  return 0;
}

}  // namespace

void describe_ls(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<ls_flags>();
  flags->path = "/";
  app.description("List the names of a node's children, sorted, one per line.");
  app.footer(
      "Examples:\n"
      "  conclave znode ls /\n"
      "  conclave znode ls -l backups/db");
  app.add_flag("-l,--long", flags->details, "also print versions, sizes, times and owners");
  add_json_flag(app, *flags, "a JSON array of names, or with -l of objects");
  add_common_flags(app, *flags);
  when_used(app, call, flags, ls);
}

}  // namespace conclave::cli::znode
