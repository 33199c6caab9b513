#include "chaos/judge.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "chaos/paths.hpp"
#include "checkers/exclusion.hpp"
#include "checkers/grant_order.hpp"
#include "checkers/queue_account.hpp"

namespace conclave::chaos {
namespace {

std::string recipe_of(const std::string& resource) {
  const std::string prefix = std::string{root} + '/';
  const auto name = resource.substr(prefix.size());
  return name.substr(0, name.find('/'));
}

class judging {
 public:
  explicit judging(const run_record& run) : run_{run}, all_{put_together(run.lives)} {}

  verdict judge() {
    for (const auto& what : run_.problems) result_.violations.push_back({0, what});
    holds();
    writes_and_errors();
    queue("queue", {"push", "pop", "driver-pop"});
    queue("claims", {"push-claims", "claim", "driver-claim"});
    faults();
    what_was_not_shown();
    return std::move(result_);
  }

 private:
  // ---- exclusion and order

  void holds() {
    struct step {
      nanoseconds at;
      enum { ends, shares, begins } what;  // at the same time, what ends goes first
      const hold_record* hold;
    };
    std::vector<step> steps;
    for (const auto& h : all_.holds) {
      steps.push_back({h.begin, step::begins, &h});
      if (h.shares) steps.push_back({*h.shares, step::shares, &h});
      steps.push_back({std::max(h.end(), h.begin + 1), step::ends, &h});
    }
    std::stable_sort(steps.begin(), steps.end(), [](const step& a, const step& b) {
      return a.at != b.at ? a.at < b.at : a.what < b.what;
    });

    std::vector<std::string> heard;
    const auto ear = [&](const std::string& what) { heard.push_back(what); };
    checkers::exclusion exclusion{ear};
    checkers::grant_order order{ear};
    std::map<std::string, const hold_record*> last;
    std::map<std::uint64_t, const hold_record*> open;
    for (const auto& s : steps) {
      const auto& h = *s.hold;
      if (s.what == step::ends) {
        exclusion.ended(h.id);
        open.erase(h.id);
        continue;
      }
      if (s.what == step::shares) {
        exclusion.shares(h.id);
        continue;
      }
      exclusion.granted(h.resource, h.id, {h.by->name, h.permits(), h.shared()});
      for (const auto& what : heard) overlap(h, what, open);
      heard.clear();
      open.emplace(h.id, &h);
      // Permits are taken in order, too, but whoever got one may hear of it later than the next.
      if (h.permits() == 1) order.granted(h.resource, h.token, h.by->name, h.shared());
      for (const auto& what : heard) complain(h.begin, what, h.resource);
      heard.clear();
      count(h, last[h.resource]);
      last[h.resource] = &h;
    }
  }

  void count(const hold_record& h, const hold_record* before) {
    auto& c = result_.recipes[recipe_of(h.resource)];
    ++c.grants;
    c.losses += h.told_lost;
    if (before != nullptr && before->by->slot != h.by->slot) ++c.hand_offs;
  }

  void overlap(const hold_record& newer, const std::string& what,
               const std::map<std::uint64_t, const hold_record*>& open) {
    std::string why;
    for (const auto& [id, older] : open) {
      if (older->resource != newer.resource || older->end() <= newer.begin) continue;
      if (newer.shared() && (older->shared() || (older->shares && *older->shares <= newer.begin)))
        continue;
      // Of permits, one that is too old explains it.
      if (auto proof = ended_too_early(*older, newer); !proof.empty()) {
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
    if (why.empty()) return complain(newer.begin, text.str(), newer.resource);
    result_.allowed.push_back(
        {newer.begin, text.str() + ": " + why, lines(newer.begin, newer.resource)});
  }

  static nanoseconds overlap_length(const hold_record& newer,
                                    const std::map<std::uint64_t, const hold_record*>& open) {
    nanoseconds longest = 0;
    for (const auto& [id, older] : open)
      if (older->resource == newer.resource)
        longest = std::max(longest, std::min(older->end(), newer.end()) - newer.begin);
    return longest;
  }

  // Why, if the server had ended the older one's session before its holder could know.
  std::string ended_too_early(const hold_record& older, const hold_record& newer) const {
    if (!run_.asked.ensemble || older.session == newer.session) return {};
    const auto e = std::find_if(run_.expiries.begin(), run_.expiries.end(), [&](const expiry& x) {
      // The log's clock has milliseconds.
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

  // ---- what the workers say themselves

  void writes_and_errors() {
    for (const auto& t : all_.events) {
      const auto& e = t.what;
      if (e.what == "refused" && e.word(3) == "stale") {
        ++result_.stale_tried;
        ++result_.stale_refused;
      } else if (e.what == "refused") {
        refused_while_held(t);
      } else if (e.what == "accepted") {
        ++result_.stale_tried;
        complain(e.at,
                 t.by->name + " wrote to " + e.word(0) + " with token " + e.word(1) +
                     " after a newer one",
                 e.word(0));
      } else if (e.what == "late") {
        ++result_.recipes[recipe_of(e.word(0))].late;
      } else if (e.what == "error") {
        std::string text = t.by->name + " met an error:";
        for (const auto& w : e.words) text += ' ' + w;
        complain(e.at, text, {});
      }
    }
  }

  // It follows from two holders; if that is explained, so is this.
  void refused_while_held(const told_event& t) {
    const auto& resource = t.what.word(0);
    const auto explained =
        std::any_of(result_.allowed.begin(), result_.allowed.end(), [&](const violation& v) {
          return v.at <= t.what.at && v.what.find(resource) != std::string::npos &&
                 v.what.find("while " + t.by->name + " held") != std::string::npos;
        });
    if (!explained)
      complain(
          t.what.at,
          t.by->name + " holds " + resource + " with token " + t.what.word(1) + ", and was refused",
          resource);
  }

  // ---- queues

  // What was begun by a process and never ended, since it was killed, is unclear.
  void queue(const std::string& name, const std::set<std::string>& jobs) {
    using fate = checkers::queue_account::fate;
    nanoseconds at = 0;
    checkers::queue_account account{
        [&](const std::string& what) { complain(at, name + ": " + what, {}); }};
    std::map<const life*, bool> popping;
    std::map<std::string, bool> pushing;
    std::map<std::pair<const life*, std::string>, bool> completing;
    for (const auto& t : all_.events) {
      if (!jobs.contains(t.by->job)) continue;
      const auto& e = t.what;
      at = e.at;
      if (e.what == "pushing") {
        pushing[e.word(0)] = true;
      } else if (e.what == "pushed") {
        pushing.erase(e.word(0));
        const auto& f = e.word(1);
        account.pushed(e.word(0), f == "done"      ? fate::done
                                  : f == "refused" ? fate::refused
                                                   : fate::unclear);
      } else if (e.what == "popping") {
        popping[t.by] = true;
      } else if (e.what == "popped") {
        popping[t.by] = false;
        if (e.word(0) != "-") account.delivered(e.word(0));
      } else if (e.what == "unclear-pop") {
        popping[t.by] = false;
        account.lost_in_delivery();
      } else if (e.what == "completing") {
        completing[{t.by, e.word(0)}] = true;
      } else if (e.what == "completed") {
        completing.erase({t.by, e.word(0)});
        if (e.word(1) == "done") account.delivered(e.word(0));
        if (e.word(1) == "unclear") account.perhaps_delivered(e.word(0));
      }
    }
    for (const auto& [item, open] : pushing) account.pushed(item, fate::unclear);
    for (const auto& [by, open] : popping)
      if (open) account.lost_in_delivery();
    for (const auto& [key, open] : completing) account.perhaps_delivered(key.second);
    account.close();
    result_.queues[name] = {account.pushes(), account.deliveries(), account.unclear()};
  }

  // ---- faults

  void faults() {
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

  void what_was_not_shown() {
    const auto need = [&](std::uint64_t n, const std::string& what) {
      if (n == 0) result_.not_shown.push_back(what);
    };
    need(result_.all_faults().hit_a_holder, "no fault has hit a holder");
    need(result_.stale_refused, "no stale write was tried and refused");
    need(result_.all_recipes().losses, "no loss was told");
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

  // ---- saying it

  void complain(nanoseconds at, const std::string& what, const std::string& resource) {
    result_.violations.push_back(
        {at, what, at == 0 ? std::vector<std::string>{} : lines(at, resource)});
  }

  // What happened around a moment: to this resource, if there is one, and all faults.
  std::vector<std::string> lines(nanoseconds at, const std::string& resource) const {
    constexpr std::size_t each_side = 12;
    std::set<const life*> concerned;
    for (const auto& h : all_.holds)
      if (h.resource == resource && h.begin <= at + second && h.end() >= at - second)
        concerned.insert(h.by);
    std::vector<std::pair<nanoseconds, std::string>> before;
    std::vector<std::pair<nanoseconds, std::string>> after;
    const auto put = [&](nanoseconds t, const std::string& who, const std::string& text) {
      if (t > at && after.size() >= each_side) return;
      std::ostringstream line;
      line.setf(std::ios::fixed);
      line.precision(3);
      line << (t - at > 0 ? "+" : "") << static_cast<double>(t - at) / millisecond << " ms  " << who
           << "  " << text;
      (t > at ? after : before).emplace_back(t, line.str());
    };
    const auto first =
        std::lower_bound(all_.events.begin(), all_.events.end(), at - 6 * second,
                         [](const told_event& e, nanoseconds t) { return e.what.at < t; });
    for (auto e = first; e != all_.events.end() && e->what.at < at + 6 * second; ++e) {
      if (!resource.empty() && !concerned.contains(e->by)) continue;
      std::string text = e->what.what;
      for (const auto& w : e->what.words) text += ' ' + w;
      put(e->what.at, e->by->name, text);
    }
    const auto middle = before.size();
    if (middle > each_side) before.erase(before.begin(), before.end() - each_side);
    for (const auto& f : run_.faults)
      if (f.at > at - 6 * second && f.at < at + second) put(f.at, f.target, "[" + f.kind + "]");
    before.insert(before.end(), after.begin(), after.end());
    std::stable_sort(before.begin(), before.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> result;
    for (auto& [t, line] : before) result.push_back(std::move(line));
    return result;
  }

  const run_record& run_;
  whole_history all_;
  verdict result_;
};

}  // namespace

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
    sum.hand_offs += c.hand_offs;
    sum.losses += c.losses;
    sum.late += c.late;
  }
  return sum;
}

verdict judge(const run_record& run) { return judging{run}.judge(); }

}  // namespace conclave::chaos
