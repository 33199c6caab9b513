// Nodes that recipes have left behind. The server removes containers by itself, but not every
// server supports them, and not every library uses them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "conclave/client.hpp"

namespace conclave::cli {

struct unused_node {
  enum class kind { lock, semaphore, queue, folder };
  std::string path;
  kind what = kind::folder;
  std::int32_t version = 0;
  std::chrono::system_clock::time_point changed;  // last change, by the server's clock
};

const char* to_string(unused_node::kind k) noexcept;

struct unused_nodes {
  std::vector<unused_node> nodes;  // children before their parents
  std::vector<std::pair<std::string, error_code>> unreadable;
};

// A node is unused if three conditions hold. It had children and has none, or only unused ones. It
// has no data except a parent record of this library. Its last change was before the given time.
// Excluded are ephemeral nodes, /, /conclave, /zookeeper, and folders that kazoo creates once and
// needs later. Throws if the server cannot be reached.
unused_nodes find_unused(client& zk, const std::vector<std::string>& roots,
                         std::chrono::system_clock::time_point before);

struct removal {
  enum class outcome { removed, in_use, refused } what = outcome::removed;
  error_code ec;
};
// Returns one result for each node, in the same order. Nodes that are in use again are kept: the
// server does not remove a node with children, and a node with changed data is skipped.
std::vector<removal> remove_unused(client& zk, const std::vector<unused_node>& nodes);

}  // namespace conclave::cli
