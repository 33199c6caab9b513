// Information about a holder or waiter of a lock, read from the lock's nodes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "conclave/layout.hpp"
#include "conclave/task_holds.hpp"

namespace conclave {

// The estimated time at which a holder was granted the lock. It is derived from the nodes and uses
// the server's clock. The server stores when a node was created, but not when its predecessor was
// deleted. The release of a Conclave mutex or writer usually also writes to the lock's path. The
// path's mtime is then the time of that release.
struct grant_time {
  std::chrono::system_clock::time_point earliest;
  // If not set, the grant may be as late as now.
  std::optional<std::chrono::system_clock::time_point> latest;
  bool exact() const noexcept { return latest == earliest; }
};

// What the node of a contender says about the call that created it, for the time of its wait.
struct wait_info {
  task_holds task;
  // The wait can end without a grant: the call has a time limit, or another thread can stop it.
  bool has_time_limit = false;
  std::optional<std::size_t>
      permits;  // of a semaphore: the number of permits that the call expects
};

struct contender_info {
  std::string node;  // the node's path
  layout::role role{};
  bool holds = false;  // determined by the order of the nodes
  // The contender's description of itself. For a contender of another library, this is the data of
  // its node. Empty if a request to release the lock has replaced that data.
  std::string owner;
  std::int64_t session_id = 0;
  std::int64_t fencing_token = 0;               // for a waiter, its token after the grant
  std::chrono::system_clock::time_point since;  // when the node was created, by the server's clock
  bool asked_to_release = false;
  std::optional<grant_time> granted{};  // only for holders
  // Set to false by inspect() if the client is not permitted to read the node. Then only node, role
  // and holds are known.
  bool readable = true;
  // Identifies the acquisition; see hold::id(). Empty if the node does not contain an id: if
  // another library created it, or a request to release the lock has replaced its data.
  std::string id{};
  // Only from nodes of this library. Not set if the node contains no such information.
  std::optional<wait_info> wait{};
};

}  // namespace conclave
