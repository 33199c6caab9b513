// The histories of a run, put together: every hold with its beginning and its end, and all events
// in the order of time.
//
// A hold ends when it is given back or told as lost, when its holder's own clock says so, or when
// its holder is killed, whichever comes first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chaos/history.hpp"
#include "chaos/life.hpp"

namespace conclave::chaos {

struct told_event {
  const life* by = nullptr;
  event what;
};

struct hold_record {
  std::uint64_t id = 0;  // in this run
  const life* by = nullptr;
  std::string resource;
  std::int64_t token = 0;
  std::string mode;
  std::int64_t session = 0;
  nanoseconds begin = 0;
  nanoseconds until = 0;  // by its own clock
  std::optional<nanoseconds> shares;
  std::optional<nanoseconds> ended;
  bool told_lost = false;

  nanoseconds end() const;
  bool alone() const { return mode == "alone"; }
  bool shared() const { return mode == "shared"; }
  std::size_t permits() const { return alone() || shared() ? 1 : std::stoul(mode); }
};

struct whole_history {
  std::vector<told_event> events;  // by time
  std::vector<hold_record> holds;  // by their beginning
};

// The lives must stay where they are as long as the result is used.
whole_history put_together(const std::vector<life>& lives);

}  // namespace conclave::chaos
