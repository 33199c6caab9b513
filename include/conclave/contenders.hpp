// Who holds a lock and who waits for it, and how to ask the holder to let go.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "conclave/client.hpp"
#include "conclave/layout.hpp"

namespace conclave {

struct contender_info {
  std::string node;  // its path
  layout::role role{};
  bool holds = false;  // as far as the order of the nodes tells
  std::string owner;   // who it is, in its own words; of other libraries, its node's data. Empty
                       // once it was asked to let go: the request stands in its place
  std::int64_t session_id = 0;
  std::int64_t fencing_token = 0;               // that it has or will have
  std::chrono::system_clock::time_point since;  // when it came, by the server's clock
};

// In the order of the line. A lock that nobody uses has none, whether or not its path exists. Reads
// every contender's node, so it is for people and tools rather than for deciding anything: when it
// returns, the line may be another. Throws as the client's calls do, and errc::layout_mismatch.
std::vector<contender_info> contenders(client& c, const std::string& path,
                                       const layout& names = layout::curator());

// Asks the holder of this node to let go (lock_options::on_revocation, Curator's Revocable). It
// may or may not; nothing is taken away from it. errc::no_node if it has gone.
void ask_to_release(client& c, const std::string& node);

}  // namespace conclave
