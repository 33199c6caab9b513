// The state that the model publishes. It is immutable, so the HTTP thread reads it without locks.
// Parts that have not changed are shared with the previous state. So a comparison of two pointers
// shows whether a part has changed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conclave/inspect.hpp"
#include "web/histogram.hpp"
#include "web/http.hpp"
#include "web/loss_finder.hpp"
#include "web/moment.hpp"

namespace conclave::web {

// A contender or hold in a list of the page.
struct list_entry {
  std::uint64_t id;  // never used again for another entry
  std::string json;
};
using entry_list = std::vector<std::shared_ptr<const list_entry>>;

// A lock, semaphore, queue or election.
struct recipe_view {
  std::uint64_t id = 0;
  std::string path, layout;
  recipe_info::kind kind{};
  std::string summary;                 // JSON, without the contenders
  entry_list contenders;               // in the order of the wait queue
  entry_list holds;                    // oldest first
  std::string charts;                  // JSON: the histograms
  std::vector<std::int64_t> sessions;  // of the first contenders
  // For the metrics.
  bool has_metrics = false;
  std::size_t holders = 0, waiters = 0;
  moment oldest_wait = 0;  // when the longest wait began, or 0
  std::uint64_t handoffs = 0;
  queue_counts queue;
  std::uint64_t pushed = 0, popped = 0;
};
using recipe_list = std::vector<std::shared_ptr<const recipe_view>>;  // sorted by id

inline constexpr std::size_t kinds = 6;  // of recipe_info::kind

struct kind_totals {
  std::uint64_t handoffs = 0;
  loss_counts losses{};
  histogram waits, holds;
};

struct live_state {
  std::uint64_t version = 0;
  recipe_list recipes;
  std::string unreadable = "[]";  // JSON
  std::string notices = "[]";     // JSON: the outcomes of actions
  shared_text graph;              // JSON
  std::size_t deadlocks = 0, possible_deadlocks = 0;
  std::array<kind_totals, kinds> totals{};
  bool knows_losses = false;   // the server has said which holds were lost
  bool is_complete = false;    // the tree has been read since the last connection
  bool omits_recipes = false;  // there are more recipes than the model follows
  std::string error;           // why the tree cannot be read
  moment read_at = 0;
  // The numbers in the reply to mntr, for the page inside a server.
  std::shared_ptr<const std::map<std::string, double>> server;
  std::uint64_t node_reads = 0, inspections = 0, events = 0;
};

}  // namespace conclave::web
