#include "cli/show/contender.hpp"
#include "cli/show/inventory_text.hpp"
#include "cli/show/unreadable.hpp"

namespace conclave::cli {
namespace {

// A semaphore waiter has only the token of its wait queue node, not that of a permit.
bool has_token(const recipe_info& r, const contender_info& who) {
  return who.holds || r.what != recipe_info::kind::semaphore;
}

json::object of(const recipe_info& r, const contender_info& who) {
  json::object o{{"node", who.node}};
  if (!who.readable) {
    o["readable"] = false;
    return o;
  }
  o["owner"] = who.owner;
  if (who.asked_to_release) o["asked_to_release"] = true;
  if (has_token(r, who)) add_number(o, "fencing_token", who.fencing_token);
  add_contender(o, who);
  if (r.what == recipe_info::kind::read_write_lock) o["role"] = to_string(who.role);
  return o;
}

json::object of(const recipe_info& r, const inventory_view& view) {
  json::object o{{"path", r.path}, {"kind", to_string(r.what)}};
  if (!r.layout.empty()) o["layout"] = r.layout;
  json::array holders, waiters;
  for (const auto& who : r.contenders) (who.holds ? holders : waiters).push_back(of(r, who));
  if (r.what == recipe_info::kind::queue) {
    o["length"] = r.queue.items;
    o["claimed"] = r.queue.claimed;
    o["set_aside"] = r.queue.set_aside;
    o["producers"] = r.queue.producers;
    o["consumers"] = r.queue.consumers;
    o["waiting"] = r.queue.waiting;
    o["claims"] = std::move(holders);
  } else if (r.what != recipe_info::kind::unused) {
    if (r.permits) o["permits"] = *r.permits;
    o["holders"] = std::move(holders);
    o["waiters"] = std::move(waiters);
  }
  if (view.rates == nullptr || r.what == recipe_info::kind::queue) return o;
  const auto rate = view.rates->of(r);
  o["handoffs_per_second"] = rate ? json::value(*rate) : json::value(nullptr);
  if (const auto longest = longest_wait(r, view.now)) o["longest_wait_ms"] = longest->count();
  return o;
}

}  // namespace

json::object inventory_json(const inspection& s, const std::vector<std::string>& roots,
                            const inventory_view& view) {
  json::array places, entries;
  for (const auto& root : roots) places.emplace_back(root);
  for (const auto* const r : ordered(s, view)) entries.push_back(of(*r, view));
  return {{"below", std::move(places)},
          {"entries", std::move(entries)},
          {"unreadable", unreadable_json(s.unreadable)}};
}

}  // namespace conclave::cli
