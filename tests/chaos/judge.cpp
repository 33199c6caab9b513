#include "chaos/judge.hpp"

#include <algorithm>

#include "chaos/paths.hpp"
#include "chaos/run_judge.hpp"

namespace conclave::chaos {

verdict run_judge::judge() {
  for (const auto& what : run_.problems) result_.violations.push_back({0, what});
  holds();
  writes_and_errors();
  queue("queue", {"push", "pop", "driver-pop"});
  queue("claims", {"push-claims", "claim", "driver-claim"});
  faults();
  check_coverage();
  return std::move(result_);
}

std::string recipe_of(const std::string& resource) {
  const std::string prefix = std::string{root} + '/';
  const auto name = resource.substr(prefix.size());
  return name.substr(0, name.find('/'));
}

void run_judge::writes_and_errors() {
  for (const auto& t : all_.events) {
    const auto& e = t.what;
    if (e.what == "refused" && e.word(3) == "stale") {
      ++result_.stale_tried;
      ++result_.stale_refused;
    } else if (e.what == "refused") {
      refused_while_held(t);
    } else if (e.what == "accepted") {
      ++result_.stale_tried;
      report_violation(
          e.at,
          t.by->name + " wrote to " + e.word(0) + " with token " + e.word(1) + " after a newer one",
          e.word(0));
    } else if (e.what == "late") {
      ++result_.recipes[recipe_of(e.word(0))].late;
    } else if (e.what == "error") {
      std::string text = t.by->name + " failed:";
      for (const auto& w : e.words) text += ' ' + w;
      report_violation(e.at, text, {});
    }
  }
}

// Not a violation if two holders were already reported or explained.
void run_judge::refused_while_held(const recorded_event& t) {
  const auto& resource = t.what.word(0);
  const auto explained =
      std::any_of(result_.allowed.begin(), result_.allowed.end(), [&](const violation& v) {
        return v.at <= t.what.at && v.what.find(resource) != std::string::npos &&
               v.what.find("while " + t.by->name + " held") != std::string::npos;
      });
  if (!explained)
    report_violation(t.what.at,
                     t.by->name + " holds " + resource + " with token " + t.what.word(1) +
                         ", but its write was refused",
                     resource);
}

void run_judge::faults() {
  std::vector<std::vector<const hold_record*>> by_slot(run_.asked.workers);
  for (const auto& h : all_.holds)
    if (h.by->slot < by_slot.size()) by_slot[h.by->slot].push_back(&h);
  const auto held = [&](std::size_t slot, nanoseconds at) {
    return std::any_of(by_slot.at(slot).begin(), by_slot.at(slot).end(),
                       [&](const auto* h) { return h->begin <= at && at <= h->end(); });
  };
  for (const auto& f : run_.faults) {
    auto& c = result_.faults[f.kind];
    ++c.all;
    c.hit_a_holder += std::any_of(f.slots.begin(), f.slots.end(),
                                  [&](std::size_t slot) { return held(slot, f.at); });
  }
  for (const auto& f : run_.faults) result_.kills += f.kind == "kill -9";
}

void run_judge::check_coverage() {
  const auto need = [&](std::uint64_t n, const std::string& what) {
    if (n == 0) result_.not_covered.push_back(what);
  };
  need(result_.all_faults().hit_a_holder, "no fault has hit a holder");
  need(result_.stale_refused, "no stale write was tried and refused");
  need(result_.all_recipes().losses, "no loss was reported");
  need(result_.all_recipes().local_grants, "no kept lock was granted locally");
  for (const auto* recipe : {"mutex", "shared", "semaphore", "election", "claims"}) {
    need(result_.recipes[recipe].grants, std::string{"no grant of "} + recipe);
    need(result_.recipes[recipe].hand_offs + (recipe == std::string{"claims"}),
         std::string{"no hand-off of "} + recipe);
  }
  for (const auto& [name, q] : result_.queues) {
    need(q.pushed, "nothing was pushed to " + name);
    need(q.delivered, "nothing was delivered from " + name);
  }
}

void run_judge::report_violation(nanoseconds at, const std::string& what,
                                 const std::string& resource) {
  result_.violations.push_back(
      {at, what, at == 0 ? std::vector<std::string>{} : lines(at, resource)});
}

fault_count verdict::all_faults() const {
  fault_count sum;
  for (const auto& [kind, c] : faults) {
    sum.all += c.all;
    sum.hit_a_holder += c.hit_a_holder;
  }
  return sum;
}

recipe_count verdict::all_recipes() const {
  recipe_count sum;
  for (const auto& [name, c] : recipes) {
    sum.grants += c.grants;
    sum.local_grants += c.local_grants;
    sum.hand_offs += c.hand_offs;
    sum.losses += c.losses;
    sum.late += c.late;
  }
  return sum;
}

verdict judge(const run_record& run) { return run_judge{run}.judge(); }

}  // namespace conclave::chaos
