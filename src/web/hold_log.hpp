// Records who held a recipe, when, and how long each holder had waited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "web/histogram.hpp"
#include "web/live_state.hpp"
#include "web/moment.hpp"

namespace conclave::web {

struct hold_record {
  std::uint64_t id = 0;
  std::string node, owner;
  std::int64_t session = 0;
  moment begin = 0;
  bool begin_is_exact = true;    // otherwise, the hold began at this time or later
  std::optional<moment> end;     // not set while it is held
  std::optional<moment> waited;  // how long; not set if it is not known
};

class hold_log {
 public:
  struct grant {
    moment at = 0;
    bool is_exact = true;
    std::optional<moment> waited;
    bool is_handoff = false;  // another contender released the lock at this time
  };
  // What the logs of all recipes share.
  struct shared_parts {
    kind_totals& totals;  // of all recipes of this kind
    std::uint64_t& ids;   // the source of new ids
    loss_finder& losses;
  };
  explicit hold_log(const shared_parts& shared) : shared_{shared} {}

  // Has no effect if this node holds already.
  void begin(const std::string& node, const grant& g);
  // Has no effect if this node does not hold.
  void end(const std::string& node, moment at);
  // Sets the owner of a hold. The owner is read only after the hold has begun.
  void describe(const std::string& node, const std::string& owner, std::int64_t session);

  bool holds(const std::string& node) const { return open_.contains(node); }
  const hold_record* find(const std::string& node) const;
  const std::unordered_map<std::string, hold_record>& open() const { return open_; }
  // The holds that ended last, and the current ones, oldest first.
  entry_list entries();

  const histogram& wait_times() const { return waits_; }
  const histogram& hold_times() const { return holds_; }
  std::uint64_t handoffs() const { return handoffs_; }

 private:
  static constexpr std::size_t max_finished = 240;

  const shared_parts shared_;
  std::unordered_map<std::string, hold_record> open_;
  std::deque<std::shared_ptr<const list_entry>> finished_;
  std::unordered_map<std::uint64_t, std::shared_ptr<const list_entry>> open_entries_;
  histogram waits_, holds_;
  std::uint64_t handoffs_ = 0;
};

}  // namespace conclave::web
