// The part of lock_object that keeps a lock after unlock() and grants it to local callers.
#include <algorithm>
#include <chrono>
#include <utility>

#include "recipes/lock_attempt.hpp"
#include "recipes/lock_object.hpp"

namespace conclave::recipes {

using namespace std::chrono_literals;
using others = recall_watch::state;

bool lock_object::keeps_locks() const noexcept {
  return options_->keep_for > std::chrono::nanoseconds{0};
}

// --- acquiring

// Handles a call that arrives while the object keeps the lock. Returns false if the call needs a
// contender of its own.
bool lock_object::acquire_kept(const caller_ptr& who) {
  adopt_local_hold();
  if (!kept_) return false;
  const auto a = kept_;
  if (who->role == a->role && a->can_grant_locally()) {
    if (a->others() == others::alone) {
      kept_.reset();
      grant_locally(a, who);
      return true;
    }
    if (a->others() == others::checking) {  // others_checked() continues
      wait_locally(who);
      return true;
    }
  }
  release_kept(and_then::start_next);
  return false;
}

// Lets the next local caller have the lock that `a` holds.
bool lock_object::grant_next_locally(const attempt_ptr& a) {
  if (waiting_.empty() || waiting_.front()->role != a->role || !a->can_grant_locally())
    return false;
  if (a->others() != others::alone) {
    if (a->local_handoffs >= options_->local_handoffs) return false;
    ++a->local_handoffs;
  }
  a->end_local_hold();
  const auto who = std::move(waiting_.front());
  waiting_.pop_front();
  grant_locally(a, who);
  return true;
}

void lock_object::grant_locally(const attempt_ptr& a, const caller_ptr& who) {
  if (auto* const n = counters()) n->local.add();
  a->thread = who->thread;
  a->key.number = ++last_number_;
  a->begin_local_hold(who->trace);
  add(a);
  last_hold(a->role) = a->hold;
  who->hold = a->hold;
  notify_user(&lock_options::on_acquired, a->hold);
  complete(who, {});
}

// --- keeping

bool lock_object::keep(const attempt_ptr& a) {
  // A writer may have become a reader.
  if (!keeps_locks() || a->role == role::reader || !a->can_grant_locally()) return false;
  if (a->others() != others::alone && a->others() != others::checking) return false;
  a->end_local_hold();
  kept_ = a;
  kept_since_ = context_->now();
  check_kept_at(kept_since_ + options_->keep_for);
  open_if_alone();
  return true;
}

void lock_object::check_kept_at(time_point when) {
  if (kept_timer_) return;  // an earlier check continues with a later one
  kept_timer_ = context_->call_at(when, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->check_kept_time();
  });
}

// With these callbacks, and with a tracer, every grant and every release must pass through this
// class.
void lock_object::open_if_alone() {
  if (kept_ && kept_->others() == others::alone && kept_->can_grant_locally() &&
      !options_->on_acquired && !options_->on_released && !context_->tracer())
    local_.open();
}

// If a thread holds the kept lock, the thread's hold becomes an ordinary hold of this class.
// Otherwise the kept lock is idle afterwards, and local_ is closed.
void lock_object::adopt_local_hold() {
  if (!kept_) return;
  const bool in_use = local_.close();
  kept_since_ =
      std::max(kept_since_, context_->now() - (clock_->coarse_time() - local_.idle_since()));
  if (!in_use) return;
  const auto a = std::exchange(kept_, {});
  a->thread = 0;
  a->key.number = ++last_number_;
  a->begin_untimed_hold();
  add(a);
  last_hold(a->role) = adopted_ = a->hold;
}

// Only the check for other contenders makes such callers wait. After it, the lock is in use.
void lock_object::refuse_callers_that_do_not_wait() {
  std::list<caller_ptr> refused;
  for (auto who = waiting_.begin(); who != waiting_.end();) {
    const auto next = std::next(who);
    if (!(*who)->waits) refused.splice(refused.end(), waiting_, who);
    who = next;
  }
  for (const auto& who : refused) complete(who, errc::lock_busy);
}

// Releases a kept lock that is idle. If a local caller holds it, unlock() will release it.
void lock_object::release_kept(and_then next) {
  adopt_local_hold();
  if (const auto a = std::exchange(kept_, {})) a->release({});
  if (next == and_then::start_next) start_next();
}

// Without a connection, nobody knows when the check for other contenders ends. So callers do not
// wait for it.
void lock_object::kept_suspended() {
  if (kept_->others() == others::checking) release_kept(and_then::start_next);
}

void lock_object::check_kept_time() {
  kept_timer_.reset();
  if (!kept_) return;
  const auto now = context_->now();
  if (local_.in_use()) {
    return check_kept_at(now + std::max<std::chrono::nanoseconds>(options_->keep_for, 1ms));
  }
  adopt_local_hold();
  if (!kept_) return;
  if (now >= kept_since_ + options_->keep_for) return release_kept(and_then::start_next);
  check_kept_at(kept_since_ + options_->keep_for);
  open_if_alone();
}

// The contender of `a` has reported that it is alone, or that another contender may exist.
void lock_object::others_checked(const attempt_ptr& a) {
  if (kept_ != a) return;
  adopt_local_hold();
  if (!kept_) return;
  if (a->others() != others::alone || !a->can_grant_locally())
    return release_kept(and_then::start_next);
  if (waiting_.empty()) return open_if_alone();
  kept_.reset();
  const auto who = std::move(waiting_.front());
  waiting_.pop_front();
  grant_locally(a, who);
  refuse_callers_that_do_not_wait();
}

// --- without the mutex

lock_object::local_result lock_object::try_acquire_locally() noexcept {
  if (!local_.try_acquire()) return local_.in_use() ? local_result::in_use : local_result::not_kept;
  return confirm_local_grant() ? local_result::acquired : local_result::not_kept;
}

void lock_object::note_local_contention() noexcept {
  if (auto* const n = counters())
    n->calls[static_cast<std::size_t>(acquire_outcome::contended)].add();
}

bool lock_object::acquire_locally() noexcept { return local_.acquire() && confirm_local_grant(); }

// The session may have expired since the lock was kept. If so, the grant is undone.
bool lock_object::confirm_local_grant() noexcept {
  if (clock_->now() < clock_->early_deadline()) {
    if (local_grants_) local_grants_->add_one();
    return true;
  }
  if (!local_.release(clock_->coarse_time())) {
    const session_context::scope inside{*context_};
    if (const auto adopted = adopted_) release_hold(*adopted);
  }
  return false;
}

}  // namespace conclave::recipes
