// What a run has shown: its histories under the checkers, and what was done to it.
//
// On an ensemble, a server that dies or stands still may leave its leader without news of a session
// that a client has good reason to think alive (client::session_deadline says so). Two holders that
// come of that are not a violation, and counted by themselves, if it is proven: the log of a server
// says that it ended the session of the first one before the second was granted, a fault of a
// server lies within the session timeout before that. What the first one writes is refused, as
// always.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "chaos/expiry.hpp"
#include "chaos/fault_log.hpp"
#include "chaos/holds.hpp"
#include "chaos/options.hpp"

namespace conclave::chaos {

struct run_record {
  options asked;
  std::string server_version;
  std::string machine;
  double seconds_of_faults = 0;
  double seconds_until_all_got_through = 0;
  std::vector<life> lives;
  std::vector<fault> faults;
  std::vector<expiry> expiries;
  std::vector<std::string> problems;  // found by other means than the checkers
};

struct violation {
  nanoseconds at = 0;
  std::string what;
  std::vector<std::string> lines{};  // of the history around it
};

struct fault_count {
  std::size_t all = 0, hit_a_holder = 0;
};

struct recipe_count {
  std::size_t grants = 0, hand_offs = 0, losses = 0, late = 0;
};

struct queue_count {
  std::uint64_t pushed = 0, delivered = 0, unclear = 0;
};

struct verdict {
  std::map<std::string, fault_count> faults;
  std::map<std::string, recipe_count> recipes;
  std::map<std::string, queue_count> queues;
  std::size_t kills = 0;  // of workers
  std::size_t stale_tried = 0, stale_refused = 0;
  // How soon the next one held what somebody had who was stopped until its own clock ended it: less
  // than 0 would be two holders.
  std::optional<nanoseconds> closest;
  std::vector<violation> violations;
  std::vector<violation> allowed;  // by the documented limit
  std::vector<std::string> not_shown;

  fault_count all_faults() const;
  recipe_count all_recipes() const;
  bool good() const { return violations.empty() && not_shown.empty(); }
};

verdict judge(const run_record& run);

}  // namespace conclave::chaos
