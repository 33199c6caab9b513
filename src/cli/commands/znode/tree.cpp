// `conclave znode tree`
#include <algorithm>
#include <iostream>
#include <limits>

#include "cli/commands/znode/znode.hpp"
#include "cli/connect/connection.hpp"
#include "cli/nodes/in_batches.hpp"
#include "cli/show/node.hpp"

namespace conclave::cli::znode {
namespace {

struct tree_flags : common_flags {
  std::size_t depth = std::numeric_limits<std::size_t>::max();
};

struct tree_node {
  std::string name, path;
  std::size_t depth = 0;
  bool exists = false;
  node_stat stat;
  std::vector<std::size_t> children;  // indexes in the list
};

struct children_reply {
  error_code ec;
  children_result result;
};

// Reads the tree level by level, each level with concurrent requests. Omits nodes that are removed
// in the meantime.
std::vector<tree_node> read_tree(client& zk, const std::string& top, std::size_t most_depth) {
  std::vector<tree_node> all{{top, top, 0, false, {}, {}}};
  for (std::size_t begin = 0; begin < all.size();) {
    const auto end = all.size();
    std::vector<children_reply> replies(end - begin);
    in_batches(zk, replies.size(), [&](std::size_t i, const auto& done) {
      const auto handler = [&to = replies[i], &done](error_code ec, children_result r) {
        to = {ec, std::move(r)};
        done();
      };
      zk.async_children(all[begin + i].path, handler);
    });
    for (std::size_t i = 0; i < replies.size(); ++i) {
      const auto at = begin + i;
      auto& [ec, r] = replies[i];
      if (ec == errc::no_node && at != 0) continue;
      if (ec) throw error{ec, "list " + all[at].path};
      all[at].exists = true;
      all[at].stat = r.stat;
      if (all[at].depth == most_depth) continue;
      std::sort(r.names.begin(), r.names.end());
      const auto prefix = all[at].path == "/" ? std::string{"/"} : all[at].path + "/";
      for (auto& name : r.names) {
        all[at].children.push_back(all.size());
        all.push_back({name, prefix + name, all[at].depth + 1, false, {}, {}});
      }
    }
    begin = end;
  }
  return all;
}

void print_lines(const std::vector<tree_node>& all) {
  std::vector<std::size_t> next{0};
  std::size_t nodes = 0, ephemeral = 0;
  std::int64_t bytes = 0;
  while (!next.empty()) {
    const auto& m = all[next.back()];
    next.pop_back();
    if (!m.exists) continue;
    ++nodes;
    bytes += m.stat.data_length;
    std::cout << std::string(2 * m.depth, ' ') << m.name;
    if (m.stat.num_children != 0) std::cout << " (" << m.stat.num_children << ")";
    if (m.stat.num_children != 0 && m.children.empty()) std::cout << " ...";
    if (m.stat.ephemeral_owner != 0) {
      std::cout << "  ephemeral";
      ++ephemeral;
    }
    std::cout << "\n";
    next.insert(next.end(), m.children.rbegin(), m.children.rend());
  }
  std::cout << nodes << (nodes == 1 ? " node, " : " nodes, ") << ephemeral << " ephemeral, "
            << bytes << (bytes == 1 ? " byte\n" : " bytes\n");
}

json::object as_json(const std::vector<tree_node>& all) {
  std::vector<json::object> objects(all.size());
  for (std::size_t i = all.size(); i-- > 0;) {  // children come after their parents
    const auto& m = all[i];
    json::array children;
    for (const auto child : m.children)
      if (all[child].exists) children.push_back(std::move(objects[child]));
    objects[i] = {{"name", m.name}, {"path", m.path}};
    for (const auto& field : stat_json(m.stat)) objects[i].insert(field);
    if (!m.children.empty()) objects[i]["children"] = std::move(children);
  }
  return std::move(objects.front());
}

int tree(tree_flags& f, const invocation&) {
  connection c{f.connect};
  const auto all = read_tree(c.zk(), f.node(), f.depth);
  if (f.json)
    print(as_json(all));
  else
    print_lines(all);
  return 0;
}

}  // namespace

void describe_tree(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<tree_flags>();
  flags->path = "/";
  app.description("Print a node and its descendants. The number of children is in parentheses.");
  app.footer("Example: conclave znode tree --depth 2 /");
  app.add_option("--depth", flags->depth, "number of levels below the node to print")
      ->type_name("N")
      ->check(CLI::Range{0, std::numeric_limits<std::int32_t>::max()});
  add_json_flag(app, *flags, "one line of JSON, with children inside their parents");
  add_common_flags(app, *flags);
  when_used(app, call, flags, tree);
}

}  // namespace conclave::cli::znode
