#include "recipes/port.hpp"

#include <algorithm>

namespace conclave::recipes {

void port::session_changed(const session_event& e) {
  const entry inside{*this};
  // A member may go while another is told.
  const std::vector<member*> all{members_.begin(), members_.end()};
  for (auto* m : all)
    if (members_.contains(m)) m->session_changed(e);
  using kind = session_event::kind;
  const auto why = e.type == kind::closed                  ? error_code{errc::closed}
                   : e.type == kind::expired               ? error_code{errc::session_expired}
                   : e.type == kind::authentication_failed ? error_code{errc::auth_failed}
                                                           : error_code{};
  if (!why || !session().over) return;
  for (const auto& each : std::exchange(endings_, {}))
    if (const auto alive = each.of.lock()) each.f(why);
}

void port::when_over(const std::weak_ptr<void>& of, std::function<void(error_code why)> f) {
  if (endings_.size() >= sweep_endings_at_) {
    std::erase_if(endings_, [](const ending& each) { return each.of.expired(); });
    sweep_endings_at_ = std::max<std::size_t>(64, 2 * endings_.size());
  }
  endings_.push_back({of, std::move(f)});
}

void port::time_passed(time_point now) {
  const entry inside{*this};
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    const auto due = timers_.extract(timers_.begin());
    due.mapped()();
  }
  if (!timers_.empty()) wake_at(timers_.begin()->first.first);
}

port::timer port::call_at(time_point when, std::function<void()> f) {
  const bool first = timers_.empty() || when < timers_.begin()->first.first;
  const timer t{when, ++last_timer_};
  timers_.emplace(t, std::move(f));
  if (first) wake_at(when);
  return t;
}

void port::keep(holder& h, time_point when) {
  holders_.insert(&h);
  plan_look(when);
}

void port::plan_look(time_point when) {
  if (when >= next_look_) return;
  next_look_ = when;
  // One planned earlier for a later time finds nothing to do.
  call_at(when, [this, when] {
    if (when == next_look_) look_after_holders();
  });
}

void port::look_after_holders() {
  next_look_ = time_point::max();
  const auto at = now();
  auto next = time_point::max();
  const std::vector<holder*> all{holders_.begin(), holders_.end()};
  for (auto* h : all)
    if (holders_.contains(h)) next = std::min(next, h->look(at));
  if (!holders_.empty() && next != time_point::max()) plan_look(std::max(next, at + duration{1}));
}

}  // namespace conclave::recipes
