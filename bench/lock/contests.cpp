#include "contests.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <utility>

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;
using group = std::vector<const variant*>;

constexpr std::size_t waiters_sessions = 10;
// Longer than that, and one round has to do.
constexpr auto long_round = 6s;

bool is_wanted(const options& o, const std::string& name) {
  return name.starts_with(o.only) || o.only.starts_with(name);
}

std::vector<std::string> names_of(const group& all) {
  std::vector<std::string> names;
  for (const auto* who : all) names.push_back(who->name);
  return names;
}

round_plan plan_for(const variant& who, std::size_t contenders, const options& wanted) {
  return {&who, contenders, contenders, wanted.warm_up, wanted.measured, 20};
}

round_plan plan_for_waiters(const variant& who, std::size_t waiters, const options& wanted) {
  auto plan = plan_for(who, waiters + 1, wanted);
  if (!who.session_each) plan.sessions = std::min(waiters_sessions, plan.contenders);
  plan.least_operations = 5;
  return plan;
}

std::vector<contender> turns_of(const group& all, const std::function<figures(const variant&)>& f) {
  std::vector<contender> result;
  for (const auto* who : all) result.push_back({who->name, [who, f] { return f(*who); }});
  return result;
}

void time_and_count(arena& where, std::string name, const std::string& title, const group& all,
                    std::size_t contenders, std::size_t unmeasured, const options& wanted,
                    results& found, progress_display& progress) {
  auto timed = take_turns(
      {title, wanted.rounds, unmeasured},
      turns_of(all,
               [&](const variant& who) { return where.timed(plan_for(who, contenders, wanted)); }),
      progress);
  auto counted = take_turns({title + ", frames and bytes", 1, 0},
                            turns_of(all,
                                     [&](const variant& who) {
                                       return where.counted(plan_for(who, contenders, wanted));
                                     }),
                            progress);
  found.all.push_back({name, title, names_of(all), std::move(timed)});
  found.all.push_back({name + series_name::traffic, title + ": what goes over the network for each",
                       names_of(all), std::move(counted)});
}

// One length of the line.
class waiters_contest {
 public:
  waiters_contest(arena& where, std::size_t waiters, const options& wanted, results& found,
                  progress_display& progress)
      : where_(where), waiters_(waiters), wanted_(wanted), found_(found), progress_(progress) {}

  // Those that did it; the others are left out of what follows.
  group run(const group& all) {
    const auto title = std::to_string(waiters_) + " waiters";
    group able;
    progress_.step(title + ", frames and bytes", all.size());
    for (const auto* who : all) {
      if (count(*who)) able.push_back(who);
      progress_.round_done(who->name);
    }
    take_timed_turns(title, able);
    found_.all.push_back({waiters_of(waiters_), title, names_of(able), std::move(timed_)});
    found_.all.push_back({waiters_of(waiters_) + series_name::traffic,
                          title + ": what goes over the network for each hand-off", names_of(able),
                          std::move(counted_)});
    return able;
  }

 private:
  bool count(const variant& who) {
    const auto begun = std::chrono::steady_clock::now();
    try {
      counted_.rounds[who.name] = {where_.counted(plan_for_waiters(who, waiters_, wanted_))};
    } catch (const gave_up& why) {
      found_.remarks.push_back(who.name + " was stopped at " + std::to_string(waiters_) +
                               " waiters: " + why.what());
      return false;
    }
    if (std::chrono::steady_clock::now() - begun > long_round) slow_.insert(&who);
    return true;
  }

  void take_timed_turns(const std::string& title, const group& able) {
    group quick;
    group slow;
    for (const auto* who : able) (slow_.contains(who) ? slow : quick).push_back(who);
    const auto run = [this](const variant& who) {
      return where_.timed(plan_for_waiters(who, waiters_, wanted_));
    };
    const std::size_t unmeasured = waiters_ == waiter_counts[0] ? 1 : 0;
    timed_ = take_turns({title, wanted_.crowd_rounds, unmeasured}, turns_of(quick, run), progress_);
    if (slow.empty()) return;
    auto once = take_turns({title + ", one round", 1, 0}, turns_of(slow, run), progress_);
    timed_.rounds.merge(once.rounds);
  }

  arena& where_;
  std::size_t waiters_;
  const options& wanted_;
  results& found_;
  progress_display& progress_;
  std::set<const variant*> slow_;
  outcome timed_;
  outcome counted_;
};

}  // namespace

void warm_up(arena& where, const options& wanted, progress_display& progress) {
  constexpr std::size_t clients = 8;
  const group all{&variants::ours, &variants::curator, &variants::kazoo, &variants::write_lock};
  take_turns({"Warming up", 1, 0},
             turns_of(all,
                      [&](const variant& who) {
                        auto plan = plan_for(who, clients, wanted);
                        plan.measured *= 5;
                        return where.timed(plan);
                      }),
             progress);
}

void compete_alone(arena& where, const options& wanted, results& found,
                   progress_display& progress) {
  if (!is_wanted(wanted, series_name::cycles)) return;
  const group all{&variants::ours, &variants::asynchronous, &variants::curator, &variants::kazoo,
                  &variants::write_lock};
  time_and_count(where, series_name::cycles, "Lock and unlock, one client", all, 1, 1, wanted,
                 found, progress);
}

void compete_for_turns(arena& where, const options& wanted, results& found,
                       progress_display& progress) {
  const group all{&variants::ours, &variants::curator, &variants::kazoo, &variants::write_lock};
  for (const auto clients : client_counts) {
    const auto name = hand_offs_of(clients);
    if (!is_wanted(wanted, name)) continue;
    time_and_count(where, name, "Hand-offs, " + std::to_string(clients) + " clients", all, clients,
                   1, wanted, found, progress);
  }
}

void compete_with_waiters(arena& where, const options& wanted, results& found,
                          progress_display& progress) {
  group able{&variants::asynchronous, &variants::without_tickets, &variants::curator,
             &variants::kazoo,        &variants::write_lock,      &variants::named,
             &variants::naive};
  for (const auto waiters : waiter_counts) {
    if (!is_wanted(wanted, waiters_of(waiters))) continue;
    std::erase_if(able, [&](const variant* who) {
      return waiters > who->most_waiters ||
             (who != &variants::asynchronous && waiters > wanted.most_peer_waiters);
    });
    able = waiters_contest(where, waiters, wanted, found, progress).run(able);
  }
}

}  // namespace conclave::bench
