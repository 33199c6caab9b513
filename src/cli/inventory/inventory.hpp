// The locks, semaphores, queues and elections in use below some paths, also those of other
// libraries. They are recognised by the names of their nodes.
//
// The inventory is for people. Nodes change while it is read, so two lines may show different
// moments.
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

// A holder or waiter.
struct participant : contender_info {
  bool readable = false;  // false: only its node and role are known
};

struct recipe {
  // An unused path had children and has none, and its kind is unknown.
  enum class kind { lock, read_write_lock, semaphore, queue, election, unused };

  std::string path;
  kind what = kind::lock;
  std::string layout;
  std::vector<participant> participants;  // holders first; for a queue, the claims

  // Of a semaphore, if it is recorded (by this library and by kazoo).
  std::optional<int> permits;

  // For a queue.
  std::size_t length = 0, claimed = 0, set_aside = 0;
  std::size_t producers = 0, consumers = 0, waiting = 0;

  bool in_use() const noexcept {
    return !participants.empty() ||
           length + claimed + set_aside + producers + consumers + waiting > 0;
  }
};

const char* to_string(recipe::kind k) noexcept;

struct inventory {
  std::vector<recipe> recipes;  // sorted by path
  std::vector<std::pair<std::string, error_code>> unreadable;
};

// Throws if the server cannot be reached.
inventory take_inventory(client& zk, const std::vector<std::string>& roots,
                         const known_names& names, bool include_unused);

}  // namespace conclave::cli
