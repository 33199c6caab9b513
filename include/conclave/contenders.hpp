// Lists the holders and waiters of a lock, and asks a holder to release it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conclave/client.hpp"
#include "conclave/layout.hpp"

namespace conclave {

// When a holder was granted the lock, estimated from the nodes, by the server's clock. The server
// stores when a node was created, but not when its predecessor was deleted. A release by Conclave
// records its time in the lock's path.
struct grant_time {
  std::chrono::system_clock::time_point earliest;
  std::optional<std::chrono::system_clock::time_point> latest;  // none: now
  bool exact() const noexcept { return latest == earliest; }
};

struct contender_info {
  std::string node;  // the node's path
  layout::role role{};
  bool holds = false;  // by the order of the nodes
  // How the contender describes itself. For other libraries, the data of its node, or empty after
  // a release request has replaced that data.
  std::string owner;
  std::int64_t session_id = 0;
  std::int64_t fencing_token = 0;               // the token it has, or will have when granted
  std::chrono::system_clock::time_point since;  // when the node was created, by the server's clock
  bool asked_to_release = false;
  std::optional<grant_time> granted{};  // only for holders, set by contenders()
};

// Returns the contenders in the order of the wait queue. Returns an empty list if nobody uses the
// lock or the path does not exist. Reads the node of every contender, so use it for inspection and
// not for decisions: the wait queue may have changed when it returns. Throws the same errors as the
// client's calls, and errc::layout_mismatch.
std::vector<contender_info> contenders(client& c, const std::string& path,
                                       const layout& names = layout::curator());

// For tools that read the nodes themselves. describe_contender() sets all members except
// role, holds and granted. estimate_grants() sets `granted` of all holders. It needs all contenders
// of the lock, and the lock's path as read after them.
contender_info describe_contender(std::string node, const get_result& read);
void estimate_grants(const get_result& lock, const std::vector<contender_info*>& contenders);

// Asks the contender that owns this node to release the lock. The holder is notified by
// lock_options::on_revocation or Curator's Revocable, and may ignore the request. For other
// libraries the request replaces the node's data. Throws errc::no_node if the node does not exist.
void ask_to_release(client& c, const std::string& node);

}  // namespace conclave
