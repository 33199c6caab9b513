#include <algorithm>
#include <sstream>

#include "chaos/run_judge.hpp"
#include "checkers/exclusion.hpp"
#include "checkers/grant_order.hpp"

namespace conclave::chaos {
namespace {

nanoseconds overlap_length(const hold_record& newer,
                           const std::map<std::uint64_t, const hold_record*>& open) {
  nanoseconds longest = 0;
  for (const auto& [id, older] : open)
    if (older->resource == newer.resource)
      longest = std::max(longest, std::min(older->end(), newer.end()) - newer.begin);
  return longest;
}

// A kept lock (lock_options::keep_for) is granted again with the same token.
bool is_local(const hold_record& h, const hold_record* before) {
  return h.exclusive() && before != nullptr && before->exclusive() && before->by == h.by &&
         before->token == h.token;
}

}  // namespace

void run_judge::holds() {
  struct step {
    nanoseconds at;
    enum { ends, downgrading, begins } what;  // ends come before begins at the same time
    const hold_record* hold;
  };
  std::vector<step> steps;
  for (const auto& h : all_.holds) {
    steps.push_back({h.begin, step::begins, &h});
    if (h.downgrading) steps.push_back({*h.downgrading, step::downgrading, &h});
    steps.push_back({std::max(h.end(), h.begin + 1), step::ends, &h});
  }
  std::stable_sort(steps.begin(), steps.end(), [](const step& a, const step& b) {
    return a.at != b.at ? a.at < b.at : a.what < b.what;
  });

  std::vector<std::string> violations;
  const auto collect = [&](const std::string& what) { violations.push_back(what); };
  checkers::exclusion exclusion{collect};
  checkers::grant_order order{collect};
  std::map<std::string, const hold_record*> last;
  std::map<std::uint64_t, const hold_record*> open;
  for (const auto& s : steps) {
    const auto& h = *s.hold;
    if (s.what == step::ends) {
      exclusion.ended(h.id);
      open.erase(h.id);
      continue;
    }
    if (s.what == step::downgrading) {
      exclusion.becomes_shared(h.id);
      continue;
    }
    exclusion.granted(h.resource, h.id, {h.by->name, h.permits(), h.shared()});
    for (const auto& what : violations) overlap(h, what, open);
    violations.clear();
    open.emplace(h.id, &h);
    // Permits are granted in order, too, but the grants may be reported in another order.
    if (h.permits() == 1 && !is_local(h, last[h.resource]))
      order.granted(h.resource, h.token, h.by->name, h.shared());
    for (const auto& what : violations) report_violation(h.begin, what, h.resource);
    violations.clear();
    count(h, last[h.resource]);
    last[h.resource] = &h;
  }
}

void run_judge::count(const hold_record& h, const hold_record* before) {
  auto& c = result_.recipes[recipe_of(h.resource)];
  ++c.grants;
  c.local_grants += is_local(h, before);
  c.losses += h.reported_lost;
  if (before == nullptr) return;
  if (before->by->slot != h.by->slot) ++c.hand_offs;
  // A running holder releases a lost lock, perhaps long before the session expires.
  const bool awake = before->ended && *before->ended <= h.begin;
  if (h.exclusive() && before->exclusive() && before->end() == before->until && !awake) {
    const auto gap = h.begin - before->until;
    if (!result_.shortest_gap || gap < *result_.shortest_gap) result_.shortest_gap = gap;
  }
}

void run_judge::overlap(const hold_record& newer, const std::string& what,
                        const std::map<std::uint64_t, const hold_record*>& open) {
  std::string why;
  for (const auto& [id, older] : open) {
    if (older->resource != newer.resource || older->end() <= newer.begin) continue;
    if (newer.shared() &&
        (older->shared() || (older->downgrading && *older->downgrading <= newer.begin)))
      continue;
    // For permits, one expired hold explains the overlap.
    if (auto proof = explain_early_expiry(*older, newer); !proof.empty()) {
      why = proof;
      if (newer.permits() > 1) break;
    } else if (newer.permits() == 1) {
      why.clear();
      break;
    }
  }
  const auto by = static_cast<double>(overlap_length(newer, open)) / millisecond;
  std::ostringstream text;
  text << what << " for " << by << " ms more";
  if (why.empty()) return report_violation(newer.begin, text.str(), newer.resource);
  result_.allowed.push_back(
      {newer.begin, text.str() + ": " + why, lines(newer.begin, newer.resource)});
}

// Returns the explanation if the older session expired before its holder could know, or "".
std::string run_judge::explain_early_expiry(const hold_record& older,
                                            const hold_record& newer) const {
  if (!run_.asked.ensemble || older.session == newer.session) return {};
  const auto e = std::find_if(run_.expiries.begin(), run_.expiries.end(), [&](const expiry& x) {
    // The log's times have a resolution of one millisecond.
    return x.session == older.session && x.at <= newer.begin + 2 * millisecond;
  });
  if (e == run_.expiries.end()) return {};
  const auto timeout = std::chrono::nanoseconds{older.by->session}.count();
  for (const auto& f : run_.faults) {
    const auto over = f.until == 0 ? f.at : f.until;
    if (f.of_server && f.at <= e->at && over + timeout >= e->at) {
      std::ostringstream text;
      text << "the servers ended its session " << (newer.begin - e->at) / millisecond
           << " ms before, " << (e->at - f.at) / millisecond << " ms after: " << f.kind;
      return text.str();
    }
  }
  return {};
}

}  // namespace conclave::chaos
