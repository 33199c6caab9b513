// Judges a run: checks its histories and counts its faults.
//
// On an ensemble, a killed or stopped server can cause the leader to expire a session before the
// client can know (see client::session_deadline). Two holders that result from this are counted
// separately and are not a violation, if two facts are recorded: a server's log shows that the
// session of the first holder expired before the second grant, and a server fault happened within
// the session timeout before that. The store refuses the writes of the first holder as usual.
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
  double seconds_until_all_succeeded = 0;
  std::vector<process_record> processes;
  std::vector<fault> faults;
  std::vector<expiry> expiries;
  std::vector<std::string> problems;  // not found by the checkers
};

struct violation {
  nanoseconds at = 0;
  std::string what;
  std::vector<std::string> lines{};  // the part of the history around the violation
};

struct fault_count {
  std::size_t all = 0, hit_a_holder = 0;
};

struct recipe_count {
  std::size_t grants = 0;
  std::size_t local_grants = 0;  // of a kept lock, without a request
  std::size_t hand_offs = 0, losses = 0, late = 0;
};

struct queue_count {
  std::uint64_t pushed = 0, delivered = 0, unknown = 0;
};

struct verdict {
  std::map<std::string, fault_count> faults;
  std::map<std::string, recipe_count> recipes;
  std::map<std::string, queue_count> queues;
  std::size_t kills = 0;  // of workers
  std::size_t stale_tried = 0, stale_refused = 0;
  // The shortest time from the deadline of a stopped holder to the next grant. A negative time
  // means two holders.
  std::optional<nanoseconds> shortest_gap;
  std::vector<violation> violations;
  std::vector<violation> allowed;  // by the documented limit
  std::vector<std::string> not_covered;

  fault_count all_faults() const;
  recipe_count all_recipes() const;
  bool good() const { return violations.empty() && not_covered.empty(); }
};

verdict judge(const run_record& run);

}  // namespace conclave::chaos
