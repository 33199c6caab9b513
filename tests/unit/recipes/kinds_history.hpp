// A history from a seed, over all kinds of locks: users that lock, hold, downgrade, unlock and give
// up, over links that break, on a server that restarts, while others write and delete their nodes.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "locker.hpp"

namespace conclave::simulated {

// What happened, over many histories: one in which nothing happens shows nothing.
struct kinds_tally {
  int histories = 0, calls = 0, grants = 0, shared_grants = 0, permits = 0, leaders = 0, full = 0;
  int downgrades = 0, failed_downgrades = 0, revocations = 0, robberies = 0, robbed_holders = 0;
  int faults = 0, holders_hit = 0, losses = 0, expiries = 0, holders_expired = 0;
  int given_up = 0, refused = 0, suspended = 0;
};
std::ostream& operator<<(std::ostream& out, const kinds_tally& t);

// What went wrong, one line for each.
std::vector<std::string> run_history(std::uint64_t seed, kinds_tally& t);

}  // namespace conclave::simulated
