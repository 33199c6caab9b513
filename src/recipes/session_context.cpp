#include "recipes/session_context.hpp"

#include <algorithm>

namespace conclave::recipes {

void session_context::session_changed(const session_event& e) {
  const scope inside{*this};
  // A listener may be removed while another one is notified.
  const std::vector<session_listener*> all{listeners_.begin(), listeners_.end()};
  for (auto* m : all)
    if (listeners_.contains(m)) m->session_changed(e);
  using kind = session_event::kind;
  const auto why = e.type == kind::closed                  ? error_code{errc::closed}
                   : e.type == kind::expired               ? error_code{errc::session_expired}
                   : e.type == kind::authentication_failed ? error_code{errc::auth_failed}
                                                           : error_code{};
  if (!why || !session().over) return;
  for (const auto& each : std::exchange(endings_, {}))
    if (const auto alive = each.of.lock()) each.f(why);
}

void session_context::on_session_end(const std::weak_ptr<void>& of,
                                     std::function<void(error_code why)> f) {
  if (endings_.size() >= sweep_endings_at_) {
    std::erase_if(endings_, [](const ending& each) { return each.of.expired(); });
    sweep_endings_at_ = std::max<std::size_t>(64, 2 * endings_.size());
  }
  endings_.push_back({of, std::move(f)});
}

void session_context::time_passed(time_point now) {
  const scope inside{*this};
  // Timers that these add run in a scope of their own, after the callbacks of this one.
  const auto newest = last_timer_;
  for (auto next = timers_.begin(); next != timers_.end() && next->first.first <= now;) {
    if (next->first.second > newest) {
      ++next;
      continue;
    }
    const auto due = timers_.extract(next);
    due.mapped()();
    next = timers_.begin();
  }
  if (!timers_.empty()) wake_at(timers_.begin()->first.first);
}

session_context::timer session_context::call_at(time_point when, std::function<void()> f) {
  const bool first = timers_.empty() || when < timers_.begin()->first.first;
  const timer t{when, ++last_timer_};
  timers_.emplace(t, std::move(f));
  if (first) wake_at(when);
  return t;
}

void session_context::monitor(deadline_listener& h, time_point when) {
  monitored_.insert(&h);
  plan_check(when);
}

void session_context::plan_check(time_point when) {
  if (when >= next_check_) return;
  next_check_ = when;
  // A check planned earlier for a later time finds next_check_ changed and does nothing.
  call_at(when, [this, when] {
    if (when == next_check_) check_deadlines();
  });
}

void session_context::check_deadlines() {
  next_check_ = time_point::max();
  const auto at = now();
  auto next = time_point::max();
  const std::vector<deadline_listener*> all{monitored_.begin(), monitored_.end()};
  for (auto* h : all)
    if (monitored_.contains(h)) next = std::min(next, h->check_deadline(at));
  if (!monitored_.empty() && next != time_point::max())
    plan_check(std::max(next, at + duration{1}));
}

}  // namespace conclave::recipes
