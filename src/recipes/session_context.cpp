#include "recipes/session_context.hpp"

#include <algorithm>
#include <cstdio>

namespace conclave::recipes {

void session_context::session_changed(const session_event& e) {
  const scope inside{*this};
  // A listener may be removed while another one is notified.
  std::vector<std::uint64_t> all;
  all.reserve(listeners_.size());
  for (const auto& [number, m] : listeners_) all.push_back(number);
  for (const auto number : all)
    if (const auto m = listeners_.find(number); m != listeners_.end())
      m->second->session_changed(e);
  using kind = session_event::kind;
  const auto why = e.type == kind::closed                  ? error_code{errc::closed}
                   : e.type == kind::expired               ? error_code{errc::session_expired}
                   : e.type == kind::authentication_failed ? error_code{errc::auth_failed}
                                                           : error_code{};
  if (!why || !session().end_reason) return;
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

std::string session_context::new_id() {
  char text[33];
  const unsigned long long low = random(), high = random();
  std::snprintf(text, sizeof text, "%016llx%016llx", high, low);
  return text;
}

void session_context::time_passed(time_point now) {
  const scope inside{*this};
  // Timers that are added by these calls run in their own scope, after the callbacks of this scope.
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

void session_context::monitor(deadline_listener& h, time_point first_check, time_point deadline) {
  stop_monitoring(h);
  h.monitor_number_ = ++last_number_;
  h.first_check_ = first_check;
  monitored_.emplace(h.monitor_number_, &h);
  first_checks_.emplace(first_check, h.monitor_number_);
  check_at(std::min(first_check, deadline));
}

void session_context::stop_monitoring(deadline_listener& h) {
  const auto number = std::exchange(h.monitor_number_, 0);
  monitored_.erase(number);
  first_checks_.erase({h.first_check_, number});
}

void session_context::check_at(time_point when) {
  if (when >= next_check_) return;
  next_check_ = when;
  // If a check was planned for a later time, it finds next_check_ changed and does nothing.
  call_at(when, [this, when] {
    if (when == next_check_) check_deadlines();
  });
}

void session_context::check_deadlines() {
  next_check_ = time_point::max();
  const auto at = now();
  std::vector<std::uint64_t> due;  // a check may end the monitoring of other holds
  while (!first_checks_.empty() && first_checks_.begin()->first <= at) {
    due.push_back(first_checks_.begin()->second);
    first_checks_.erase(first_checks_.begin());
  }
  if (at >= session().deadline) {
    due.clear();
    for (const auto& [number, h] : monitored_) due.push_back(number);
  }
  for (const auto number : due)
    if (const auto h = monitored_.find(number); h != monitored_.end())
      h->second->check_deadline(at);
  if (!first_checks_.empty()) check_at(first_checks_.begin()->first);
  // The deadline moves when the server replies. After the deadline, all these holds are lost.
  const auto deadline = session().deadline;
  if (!monitored_.empty() && deadline > at && deadline != time_point::max()) check_at(deadline);
}

}  // namespace conclave::recipes
