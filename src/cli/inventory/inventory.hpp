// What is in use below some paths: locks, semaphores, queues and elections, of ours and of other
// libraries, known by the names of their nodes.
//
// It is read piece by piece while others go on, so it is for people: two lines of it need not have
// been true at the same moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/inventory/tree.hpp"
#include "conclave/client.hpp"
#include "conclave/contenders.hpp"
#include "conclave/layout.hpp"

namespace conclave::cli {

// One who holds or waits.
struct participant : contender_info {
  bool readable = false;  // otherwise nothing but its node and role is known
};

struct recipe {
  // An unused one had children and has none, and nothing tells what it was.
  enum class kind { lock, read_write_lock, semaphore, queue, election, unused };

  std::string path;
  kind what = kind::lock;
  std::string layout;
  std::vector<participant> line;  // those who hold it first; of a queue, who claims which item

  // Of a semaphore of ours or of kazoo's, where it is recorded; otherwise programs know it.
  std::optional<int> permits;

  // Of a queue.
  std::size_t length = 0, claimed = 0, set_aside = 0;
  std::size_t producers = 0, consumers = 0, waiting = 0;

  bool in_use() const noexcept {
    return !line.empty() || length + claimed + set_aside + producers + consumers + waiting > 0;
  }
};

const char* to_string(recipe::kind k) noexcept;

struct inventory {
  std::vector<recipe> recipes;  // by path
  std::vector<std::pair<std::string, error_code>> unreadable;
};

// Throws if the server cannot be reached.
inventory take_inventory(client& zk, const std::vector<std::string>& roots,
                         const known_names& names, bool unused_too);

}  // namespace conclave::cli
