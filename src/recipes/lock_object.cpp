#include "recipes/lock_object.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "recipes/lock_attempt.hpp"

namespace conclave::recipes {
namespace {

// If a caller locks again within this time after unlocking, we expect it to do so the next time.
constexpr auto relock_window = std::chrono::microseconds{50};

}  // namespace

lock_object::lock_object(std::shared_ptr<session_context> p, lock_request r,
                         std::optional<lock_request> gate, const lock_options& options,
                         progress_callback f)
    : context_{std::move(p)},
      request_{std::move(r)},
      gate_{std::move(gate)},
      options_{std::make_shared<lock_options>(options)},
      progress_callback_{f ? std::make_shared<progress_callback>(std::move(f)) : nullptr} {
  const auto set = [&](lock_request& each) {
    each.owner = options.owner;
    if (!options.tickets) each.mode = lock_request::wait_mode::listing;
  };
  set(request_);
  if (gate_) {
    set(*gate_);
    // A contender waits longest for a permit, after it has passed the gate. So a faster hand-off of
    // the gate saves little.
    if (options.tickets) gate_->mode = lock_request::wait_mode::tickets;
  }
  auto& queued = gate_ ? *gate_ : request_;
  queued.reports_position = static_cast<bool>(options.on_enqueued);
}

bool lock_object::busy_for(role r) const {
  if (r == role::reader || request_.granted_when == lock_request::rule::permits) return false;
  return std::any_of(attempts_.begin(), attempts_.end(),
                     [](const auto& a) { return a->role != role::reader; });
}

void lock_object::acquire(const caller_ptr& who) {
  // If there will be no other session, no caller waits here. Its request fails at once and returns
  // the reason.
  if (!busy_for(who->role) || context_->session().over) return begin(who);
  if (who->waits)
    wait_locally(who);
  else
    complete(who, errc::lock_busy);
}

// A lost lock blocks this object until it is unlocked. If the client is closed, the owner may never
// unlock it. So the end of the session completes the local waiters.
void lock_object::wait_locally(const caller_ptr& who) {
  waiting_.push_back(who);
  if (std::exchange(listens_for_session_end_, true)) return;
  context_->on_session_end(weak_from_this(), [this](error_code why) { complete_waiting(why); });
}

void lock_object::complete_waiting(error_code why) {
  for (const auto& who : std::exchange(waiting_, {})) complete(who, why);
}

void lock_object::begin(const caller_ptr& who) {
  using on_contention = lock_request::on_contention;
  const auto if_contended = who->waits ? on_contention::wait : on_contention::give_up;
  auto r = request_;
  r.role = who->role;
  r.if_contended = if_contended;
  r.seen_holder = request_.role == role::exclusive ? seen_holder_ : std::string{};
  if (gate_) gate_->if_contended = if_contended;
  const auto a = std::make_shared<attempt>(*this, who, std::move(r));
  attempts_.push_back(a);
  if (last_release_ != time_point{})
    context_->relocks_at_once = context_->now() - last_release_ < relock_window;
  const auto before = std::exchange(release_with_next_, {});
  if (before && who->waits && who->role == role::exclusive) return a->start(before);
  if (before) before->release_now();
  a->start();
}

void lock_object::ended(const attempt_ptr& a, error_code why) {
  std::erase(attempts_, a);
  complete(std::exchange(a->waiting_caller, {}), why);
  start_next();
}

void lock_object::give_up(const caller_ptr& who, error_code why) {
  const auto at_server = std::find_if(attempts_.begin(), attempts_.end(),
                                      [&](const auto& a) { return a->waiting_caller == who; });
  if (at_server != attempts_.end()) {
    const auto a = *at_server;
    attempts_.erase(at_server);
    a->waiting_caller.reset();
    note_released(a);
    a->release({});
    complete(who, why);
    return start_next();
  }
  if (std::erase(waiting_, who) > 0) complete(who, why);
}

lock_object::attempt_ptr lock_object::hold_to_release(role r, std::uint64_t thread) const {
  // The hold with the lowest rank is released first. Among holds of equal rank, the oldest one is.
  const auto rank = [&](const attempt& a) {
    return std::pair{a.thread == thread ? 0 : a.thread == 0 ? 1 : 2, a.is_lost() ? 0 : 1};
  };
  attempt_ptr best;
  for (const auto& a : attempts_)
    if (a->role == r && a->was_granted() && (!best || rank(*a) < rank(*best))) best = a;
  return best;
}

void lock_object::release(role r, std::uint64_t thread, std::function<void()> confirmed) {
  const auto a = hold_to_release(r, thread);
  if (!a) {
    if (confirmed) context_->post(std::move(confirmed));
    return;
  }
  std::erase(attempts_, a);
  release_attempt(a, std::move(confirmed));
  start_next();
}

void lock_object::release_hold(std::int64_t token) {
  const auto a = std::find_if(attempts_.begin(), attempts_.end(), [&](const auto& each) {
    return each->was_granted() && each->hold->token() == token;
  });
  if (a == attempts_.end()) return;
  const auto held = *a;
  attempts_.erase(a);
  release_attempt(held, {});
  start_next();
}

// If another caller waits, or the program usually locks again right after unlocking, the release is
// sent with the next creation. This saves a transaction. Without a waiting caller, the release is
// delayed only until the I/O thread runs the posted function. If no attempt has begun by then,
// relocks_at_once is cleared.
void lock_object::release_attempt(const attempt_ptr& a, std::function<void()> confirmed) {
  note_released(a);
  last_release_ = context_->now();
  const bool saves_a_write = !waiting_.empty() || (context_->relocks_at_once && !confirmed);
  if (!saves_a_write || !a->release_with_next(confirmed)) return a->release(std::move(confirmed));
  release_with_next_ = a;
  if (waiting_.empty())
    context_->call_soon([weak = weak_from_this(), a] {
      const auto self = weak.lock();
      if (self && self->release_with_next_ == a) {
        self->release_with_next_.reset();
        self->context_->relocks_at_once = false;
      }
      a->release_now();
    });
}

void lock_object::downgrade(std::function<void(error_code)> completed) {
  const auto a = hold_to_release(role::writer, 0);
  const auto complete_call = [p = context_, completed = std::move(completed)](error_code ec) {
    p->post([completed, ec] { completed(ec); });
  };
  if (!a || a->is_lost()) return complete_call(a ? refusal_of(*a->hold) : errc::lock_lost);
  a->downgrade([self = weak_from_this(), complete_call](error_code ec) {
    complete_call(ec);
    if (const auto o = self.lock()) o->start_next();  // a writer may wait locally
  });
}

void lock_object::close(error_code why) {
  if (const auto before = std::exchange(release_with_next_, {})) before->release_now();
  complete_waiting(why);
  for (const auto& a : std::exchange(attempts_, {})) {
    complete(std::exchange(a->waiting_caller, {}), why);
    note_released(a);
    a->release({});
  }
}

void lock_object::note_released(const attempt_ptr& a) {
  if (!progress_callback_) return;
  std::erase_if(leaving_, [](const auto& weak) {
    const auto old = weak.lock();
    return !old || old->is_gone();
  });
  leaving_.push_back(a);
}

void lock_object::when_all_gone(std::function<void()> confirmed) {
  const auto pending = std::make_shared<std::atomic<std::size_t>>(1);
  const auto one_gone = [pending, confirmed = std::move(confirmed)] {
    if (--*pending == 0) confirmed();
  };
  for (const auto& weak : leaving_)
    if (const auto a = weak.lock(); a && !a->is_gone()) {
      ++*pending;
      a->when_gone(one_gone);
    }
  context_->post(one_gone);
}

void lock_object::start_next() {
  if (waiting_.empty() || busy_for(waiting_.front()->role)) return;
  const auto who = std::move(waiting_.front());
  waiting_.pop_front();
  begin(who);
}

std::shared_ptr<hold_state> lock_object::hold(role r, std::uint64_t thread) const {
  attempt_ptr latest;
  for (const auto& a : attempts_) {
    if (a->role != r || !a->was_granted()) continue;
    if (!latest || a->thread == thread || latest->thread != thread) latest = a;
  }
  if (latest) return latest->hold;
  const auto last = last_holds_.find(r);
  return last == last_holds_.end() ? nullptr : last->second;
}

bool lock_object::held_by_thread(role r, std::uint64_t thread) const {
  return std::any_of(attempts_.begin(), attempts_.end(), [&](const auto& a) {
    return a->role == r && a->was_granted() && a->thread == thread;
  });
}

void lock_object::complete(const caller_ptr& who, error_code ec) {
  if (who) context_->post([who, ec] { who->complete(ec); });
}

}  // namespace conclave::recipes
