// What the model knows about one lock, semaphore, queue or election. Used only on the model's
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "conclave/inspect.hpp"
#include "web/hold_log.hpp"
#include "web/live_state.hpp"
#include "web/rate.hpp"
#include "web/wait_order.hpp"

namespace conclave::web {

class recipe_record {
 public:
  recipe_record(const recipe_info& info, std::uint64_t id, const hold_log::shared_parts& shared,
                moment at);

  // An event for a child of the recipe's path, or of a queue's folder of items.
  void created(const std::string& node, moment at);
  void deleted(const std::string& node, moment at);

  struct reading {
    moment began = 0;                    // when the inspection began
    moment at = 0;                       // when it ended
    std::optional<moment> clock_offset;  // this machine's clock minus the server's
    // The nodes that were deleted since the inspection began, and when.
    const std::unordered_map<std::string, moment>* deleted = nullptr;
  };
  void inspected(recipe_info info, const reading& r);
  // An inspection has not found the recipe, so nobody uses it.
  void not_found(const reading& r);

  std::shared_ptr<const recipe_view> view(moment at, std::string_view deadlock);

  const recipe_info& info() const { return info_; }
  std::uint64_t id() const { return id_; }
  moment last_used() const { return last_used_; }
  bool in_use() const { return info_.in_use(); }
  // The rates of the last view change as time passes.
  bool has_rates() const { return has_rates_; }
  void set_has_metrics() { has_metrics_ = true; }
  bool has_metrics() const { return has_metrics_; }
  // Returns the time at which this node was created, by this machine's clock.
  moment since_of(const contender_info& c) const;

 private:
  void inspected_in_order(const reading& r);
  void inspected_without_order(const reading& r);
  hold_log::grant grant_of(const contender_info& c, const reading& r) const;
  entry_list contender_entries();
  std::string charts() const;

  const std::uint64_t id_;
  recipe_info info_;
  std::uint64_t& ids_;
  hold_log log_;
  // The layout of the names. Not set if the names do not show who holds the recipe.
  std::optional<layout> names_;
  wait_order order_;
  std::optional<moment> clock_offset_;
  moment last_used_;
  bool was_inspected_ = false;
  bool has_rates_ = false;
  bool has_metrics_ = false;
  rate handoff_rate_, push_rate_, pop_rate_;
  std::uint64_t handoffs_counted_ = 0;
  struct cached_entry {
    std::shared_ptr<const list_entry> entry;
    std::string owner;
    moment since = 0;
    bool holds = false, asked = false, readable = true;
    std::uint64_t used = 0;
  };
  std::unordered_map<std::string, cached_entry> entries_;  // by node
  std::uint64_t turn_ = 0;
};

}  // namespace conclave::web
