// `conclave gc`: removes nodes that locks and queues have left behind.
#include <algorithm>
#include <iostream>

#include "cli/command.hpp"
#include "cli/connect/connection.hpp"
#include "cli/exit_code.hpp"
#include "cli/raw_arguments.hpp"
#include "cli/show/duration.hpp"
#include "cli/show/json.hpp"
#include "cli/show/text.hpp"
#include "conclave/inspect.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;
using outcome = removal::outcome;

struct gc_flags {
  connect_flags connect;
  std::vector<std::string> paths;
  std::string older_than = "1h";
  bool remove = false, json = false;
};

const char* to_string(outcome o) {
  switch (o) {
    case outcome::removed: return "removed";
    case outcome::in_use: return "in use";
    case outcome::refused: return "refused";
  }
  return "";
}

struct report {
  std::vector<std::string> roots;
  unused_nodes found;
  std::vector<removal> removed;  // one for each found node, if nodes are to be removed

  int exit_code() const {
    const auto refused = std::find_if(removed.begin(), removed.end(),
                                      [](const removal& r) { return r.what == outcome::refused; });
    return refused == removed.end() ? static_cast<int>(ok) : exit_code_of(refused->ec);
  }
};

json::object to_json(const report& r) {
  json::array roots, nodes, unreadable;
  for (const auto& root : r.roots) roots.emplace_back(root);
  for (std::size_t i = 0; i < r.found.nodes.size(); ++i) {
    const auto& node = r.found.nodes[i];
    json::object o{{"path", node.path}, {"kind", to_string(node.what)}};
    add_time(o, "changed", node.changed);
    if (i < r.removed.size()) o["outcome"] = to_string(r.removed[i].what);
    nodes.push_back(std::move(o));
  }
  for (const auto& [path, why] : r.found.unreadable)
    unreadable.push_back(json::object{{"path", path}, {"why", why.message()}});
  return {{"below", std::move(roots)},
          {"nodes", std::move(nodes)},
          {"unreadable", std::move(unreadable)}};
}

void show(const report& r) {
  const auto now = std::chrono::system_clock::now();
  std::size_t width = 0, gone = 0;
  for (const auto& node : r.found.nodes) width = std::max(width, columns(printable(node.path)));
  for (std::size_t i = 0; i < r.found.nodes.size(); ++i) {
    const auto& node = r.found.nodes[i];
    std::cout << padded(printable(node.path), width) << "  " << padded(to_string(node.what), 9)
              << "  unused, changed " << short_time(now - node.changed) << " ago";
    if (i < r.removed.size()) {
      gone += r.removed[i].what == outcome::removed ? 1 : 0;
      if (r.removed[i].what == outcome::in_use) std::cout << "  kept: in use again";
      if (r.removed[i].what == outcome::refused)
        std::cout << "  kept: " << r.removed[i].ec.message();
    }
    std::cout << "\n";
  }
  for (const auto& [path, why] : r.found.unreadable)
    std::cout << "cannot read " << printable(path) << ": " << why.message() << "\n";
  if (r.found.nodes.empty()) {
    std::cout << "nothing to remove\n";
  } else if (r.removed.empty()) {
    std::cout << r.found.nodes.size() << " to remove; use --remove to remove them\n";
  } else {
    std::cout << gone << " removed\n";
  }
}

int run(gc_flags& f, const invocation&) {
  report r;
  for (const auto& path : f.paths) r.roots.push_back(node_path(path));
  if (r.roots.empty()) r.roots.emplace_back(root_path);
  const auto before = std::chrono::system_clock::now() - parse_duration(f.older_than);
  connection c{f.connect};
  r.found = find_unused(c.zk(), r.roots, before);
  if (f.remove) r.removed = remove_unused(c.zk(), r.found.nodes);
  if (f.json)
    print(to_json(r));
  else
    show(r);
  return r.exit_code();
}

}  // namespace

void describe_gc(CLI::App& app, invocation& call) {
  auto f = std::make_shared<gc_flags>();
  app.description(
      "List or remove empty nodes of locks, queues and elections. Servers with container nodes\n"
      "remove those of Conclave by themselves.");
  app.footer(
      "Examples:\n"
      "  conclave gc\n"
      "  conclave gc --remove --older-than 24h /locks\n"
      "\n"
      "A node is listed if three conditions hold. It had children and has none now, or it is a\n"
      "node beside a queue (PATH.conclave) without children. It has no data, or only a record of\n"
      "Conclave. It has not changed for the time of --older-than.\n"
      "A node that is in use again is kept. Most programs create a missing node again, and so\n"
      "does Conclave. kazoo's Lock and Queue objects do so only at their start, so check before\n"
      "you remove their nodes.\n"
      "Exit codes: 77 if an ACL forbids a removal; 1 if the server refused it for another reason.");
  add_raw_arguments(
      app, "PATH", f->paths,
      "list nodes at and below this path (default: below /conclave); without a leading "
      "/, it is below /conclave");
  app.add_flag("--remove", f->remove, "remove the nodes instead of listing them");
  app.add_option("--older-than", f->older_than, "only nodes that have not changed for this time")
      ->type_name("TIME")
      ->capture_default_str();
  app.add_flag("--json", f->json, "one line of JSON");
  add_connect_flags(app, f->connect);
  when_used(app, call, f, run);
}

}  // namespace conclave::cli
