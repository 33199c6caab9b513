#include "web/wait_order.hpp"

#include <iterator>
#include <utility>

namespace conclave::web {

void wait_order::add(std::int32_t number, contender c) {
  const auto at = c.since;
  const bool is_reader = c.role == layout::role::reader;
  const auto [place, is_new] = all_.try_emplace(number, std::move(c));
  if (!is_new) return;
  if (place != all_.begin()) {
    const auto& ahead = std::prev(place)->second;
    if (!is_reader || ahead.role != layout::role::reader || !ahead.holds) return;
  }
  place->second.holds = true;
  log_.begin(place->second.node, {at, true, moment{0}, false});
}

void wait_order::add_found(std::int32_t number, contender c) {
  all_.try_emplace(number, std::move(c));
}

void wait_order::remove(std::int32_t number, moment at) {
  const auto found = all_.find(number);
  if (found == all_.end()) return;
  const bool held = found->second.holds;
  const bool is_reader = found->second.role == layout::role::reader;
  log_.end(found->second.node, at);
  all_.erase(found);
  const bool others_hold = is_reader && !all_.empty() && all_.begin()->second.holds;
  // A writer that stops waiting lets the readers behind it pass.
  if (!others_hold) grant_heads(at, held);
}

void wait_order::grant_heads(moment at, bool is_handoff) {
  for_each_head([&](contender& c) {
    if (std::exchange(c.holds, true)) return;
    log_.begin(c.node, {at, true, at - c.since, is_handoff});
  });
}

}  // namespace conclave::web
