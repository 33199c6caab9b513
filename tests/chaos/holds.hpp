// The combined histories of a run: all holds with begin and end, and all events in the order of
// time.
//
// A hold ends when it is released or reported as lost, when its deadline passes, or when its holder
// is killed, whichever comes first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chaos/history.hpp"
#include "chaos/process_record.hpp"

namespace conclave::chaos {

struct recorded_event {
  const process_record* by = nullptr;
  event what;
};

struct hold_record {
  std::uint64_t id = 0;  // in this run
  const process_record* by = nullptr;
  std::string resource;
  std::int64_t token = 0;
  std::string mode;
  std::int64_t session = 0;
  nanoseconds begin = 0;
  nanoseconds until = 0;  // its deadline
  std::optional<nanoseconds> downgrading;
  std::optional<nanoseconds> ended;
  bool reported_lost = false;

  nanoseconds end() const;
  bool exclusive() const { return mode == "exclusive"; }
  bool shared() const { return mode == "shared"; }
  std::size_t permits() const { return exclusive() || shared() ? 1 : std::stoul(mode); }
};

struct combined_history {
  std::vector<recorded_event> events;  // sorted by time
  std::vector<hold_record> holds;      // sorted by begin
};

// The result contains pointers to `processes`.
combined_history combine(const std::vector<process_record>& processes);

}  // namespace conclave::chaos
