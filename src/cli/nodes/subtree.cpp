#include "cli/nodes/subtree.hpp"

#include <vector>

#include "cli/exit_code.hpp"
#include "cli/nodes/in_batches.hpp"

namespace conclave::cli {

namespace {

constexpr int most_rounds = 100;

struct outcome {
  error_code ec;
  std::vector<std::string> names;
};

// The node and its descendants, each node before its children.
std::vector<std::string> listed_tree(client& zk, const std::string& path) {
  std::vector<std::string> all{path};
  for (std::size_t begin = 0; begin < all.size();) {
    const auto end = all.size();
    std::vector<outcome> lists(end - begin);
    in_batches(zk, lists.size(), [&](std::size_t i, const auto& done) {
      zk.async_children(all[begin + i], [&to = lists[i], &done](error_code ec, children_result r) {
        to = {ec, std::move(r.names)};
        done();
      });
    });
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const auto parent = all[begin + i];
      if (lists[i].ec && lists[i].ec != errc::no_node) throw error{lists[i].ec, "list " + parent};
      for (const auto& name : lists[i].names) all.push_back(parent + "/" + name);
    }
    begin = end;
  }
  return all;
}

}  // namespace

void make_parents(client& zk, const std::string& path) {
  for (auto slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1))
    try {
      // The ACL is open because other users create nodes below the same parents.
      zk.create(path.substr(0, slash), {}, {create_mode::persistent, open_acl()});
    } catch (const error& e) {
      // A missing permission does not matter if the node exists.
      if (e.code() == errc::no_auth && zk.exists(path.substr(0, slash))) continue;
      if (e.code() != errc::node_exists) throw;
    }
}

bool remove_tree(client& zk, const std::string& path) {
  bool was_there = false;
  for (int round = 0; round < most_rounds; ++round) {
    const auto all = listed_tree(zk, path);
    std::vector<error_code> results(all.size());
    // The server processes the requests of a client in order, so children are removed first.
    in_batches(zk, all.size(), [&](std::size_t i, const auto& done) {
      const auto at = all.size() - 1 - i;
      zk.async_remove(all[at], any_version, [&to = results[at], &done](error_code ec) {
        to = ec;
        done();
      });
    });
    for (std::size_t i = all.size(); i-- > 0;) {
      const auto ec = results[i];
      if (!ec) was_there = true;
      if (ec && ec != errc::no_node && ec != errc::not_empty) throw error{ec, "remove " + all[i]};
    }
    if (!results.front()) return true;
    if (results.front() == errc::no_node) return was_there;
  }
  throw failure{failed, "cannot remove " + path + ": other clients keep creating nodes below it"};
}

}  // namespace conclave::cli
