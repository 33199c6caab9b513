// Nodes that recipes have left behind, on servers that do not remove them by themselves (containers
// are not known to every server, nor made by every library).
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
  std::chrono::system_clock::time_point changed;  // last, by the server's clock
};

const char* to_string(unused_node::kind k) noexcept;

struct unused_nodes {
  std::vector<unused_node> nodes;  // children before their parents
  std::vector<std::pair<std::string, error_code>> unreadable;
};

// A node is unused if it had children and has none (or only such as are unused themselves), holds
// no data but a lock's record of ours, and was last changed before that time. What other programs
// rely on after they have made it once, as far as known, is not among them; nor is /conclave.
// Throws if the server cannot be reached.
unused_nodes find_unused(client& zk, const std::vector<std::string>& roots,
                         std::chrono::system_clock::time_point before);

struct removal {
  enum class outcome { removed, in_use, refused } what = outcome::removed;
  error_code ec;
};
// For each of them, in their order. One that somebody has begun to use meanwhile stays: the server
// does not remove a node that has children, and we do not remove one whose data has changed.
std::vector<removal> remove_unused(client& zk, const std::vector<unused_node>& nodes);

}  // namespace conclave::cli
