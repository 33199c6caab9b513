// Who holds a lock and who waits for it, and how to ask the holder to let go.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conclave/client.hpp"
#include "conclave/layout.hpp"

namespace conclave {

// When a holder was granted the lock, as far as the nodes tell, by the server's clock. The server
// knows when a node was created, not when its predecessor went; a lock's path keeps the time of the
// last release by a holder of this library.
struct grant_time {
  std::chrono::system_clock::time_point earliest;
  std::optional<std::chrono::system_clock::time_point> latest;  // none: now
  bool exact() const noexcept { return latest == earliest; }
};

struct contender_info {
  std::string node;  // its path
  layout::role role{};
  bool holds = false;  // as far as the order of the nodes tells
  std::string owner;   // who it is, in its own words; of other libraries, its node's data. Empty
                       // once one of those was asked to release: the request stands in its place
  std::int64_t session_id = 0;
  std::int64_t fencing_token = 0;               // that it has or will have
  std::chrono::system_clock::time_point since;  // when it came, by the server's clock
  bool asked_to_release = false;
  std::optional<grant_time> granted{};  // of a holder that contenders() has found
};

// In the order of the line. A lock that nobody uses has none, whether or not its path exists. Reads
// every contender's node, so it is for people and tools rather than for deciding anything: when it
// returns, the line may be another. Throws as the client's calls do, and errc::layout_mismatch.
std::vector<contender_info> contenders(client& c, const std::string& path,
                                       const layout& names = layout::curator());

// For tools that read the nodes themselves: what a contender's node says, without role, holds and
// granted; and `granted` of the holders among all contenders of a lock, whose path was read after
// them.
contender_info describe_contender(std::string node, const get_result& read);
void estimate_grants(const get_result& lock, const std::vector<contender_info*>& contenders);

// Asks the holder of this node to release the lock (lock_options::on_revocation, Curator's
// Revocable). It may or may not; nothing is taken away from it. A contender of this library keeps
// its owner; other libraries know the request only in place of their data. errc::no_node if it has
// gone.
void ask_to_release(client& c, const std::string& node);

}  // namespace conclave
