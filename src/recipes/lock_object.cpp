#include "recipes/lock_object.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "recipes/lock_attempt.hpp"
#include "recipes/lock_option_members.hpp"
#include "recipes/thread_holds.hpp"

namespace conclave::recipes {
namespace {

// If a caller locks again within this time after unlocking, we expect it to do so the next time.
constexpr auto relock_window = std::chrono::microseconds{50};

template <class T>
bool has_default(const T& value, const T& normal) {
  return value == normal;
}
template <class Signature>
bool has_default(const std::function<Signature>& callback, const std::function<Signature>&) {
  return !callback;
}
// The layout of the requests counts; see lock_object::options_.
bool has_default(const layout&, const layout&) { return true; }

// A program may have many locks, and most of them have default options. They share one object.
std::shared_ptr<const lock_options> shared_options(lock_options o) {
  static const auto defaults = std::make_shared<const lock_options>();
  // The requests have these two as well.
  o.owner = defaults->owner;
  o.tickets = defaults->tickets;
  const bool all_default = std::apply(
      [&](const auto&... values) {
        return std::apply(
            [&](const auto&... normal) { return (has_default(values, normal) && ...); },
            members_of(*defaults));
      },
      members_of(o));
  return all_default ? defaults : std::make_shared<const lock_options>(std::move(o));
}

lock_kind kind_of(const lock_request& r, bool reports_progress) {
  if (reports_progress) return lock_kind::election;
  if (r.granted_when == lock_request::rule::permits) return lock_kind::semaphore;
  return r.role == layout::role::exclusive ? lock_kind::lock : lock_kind::read_write_lock;
}

acquire_outcome outcome_of(const lock_object::caller& who, const error_code& ec) {
  if (!ec) return acquire_outcome::acquired;
  if (ec == cancelled()) return acquire_outcome::cancelled;
  if (ec != errc::lock_busy) return acquire_outcome::failed;
  if (!who.waits) return acquire_outcome::contended;
  return who.has_deadline ? acquire_outcome::timed_out : acquire_outcome::cancelled;
}

bool calls_user(const lock_options& o) {
  return o.on_enqueued || o.on_acquired || o.on_released || o.on_suspended || o.on_restored ||
         o.on_lost || o.on_revocation;
}

}  // namespace

lock_object::lock_object(std::shared_ptr<session_context> context, lock_request request,
                         std::optional<lock_request> admission, const lock_options& options,
                         progress_callback f)
    : context_{std::move(context)},
      kind_{kind_of(request, static_cast<bool>(f))},
      options_{shared_options(options)},
      callbacks_{calls_user(options) ? std::make_shared<callback_queue>() : nullptr},
      progress_callback_{f ? std::make_shared<progress_callback>(std::move(f)) : nullptr},
      clock_{context_->clock()} {
  const auto set = [&](lock_request& each) {
    each.owner = options.owner;
    if (!options.tickets) each.mode = lock_request::wait_mode::listing;
  };
  set(request);
  if (admission) {
    set(*admission);
    // A contender waits longest for a permit, after it has passed the admission lock. So a faster
    // hand-off of the admission lock saves little.
    if (options.tickets) admission->mode = lock_request::wait_mode::tickets;
  }
  (admission ? *admission : request).reports_position = static_cast<bool>(options.on_enqueued);
  if (keeps_locks())
    if (auto* const all = context_->counters())
      local_grants_ = std::make_unique<local_grant_counter>(*all, kind_);
  request_ = std::make_shared<const lock_request>(std::move(request));
  if (admission) admission_ = std::make_shared<const lock_request>(std::move(*admission));
}

// --- the attempts

void lock_object::add(const attempt_ptr& a) {
  using stage = attempt_key::stage;
  const auto at = !a->was_granted() ? stage::waiting : a->is_lost() ? stage::lost : stage::held;
  a->key = {a->role, a->thread, at, a->key.number};
  attempts_.emplace(a->key, a);
  if (a->was_granted()) by_token_.emplace(a->hold->token(), a);
}

void lock_object::remove(const attempt_ptr& a) {
  attempts_.erase(a->key);
  by_token_.erase(a->hold->token());
}

void lock_object::reorder(const attempt_ptr& a) {
  if (attempts_.erase(a->key) > 0) add(a);
}

bool lock_object::has_attempt(role r) const {
  const auto a = attempts_.lower_bound({r});
  return a != attempts_.end() && a->first.role == r;
}

lock_object::attempt_ptr lock_object::first_hold(role r, std::uint64_t thread) const {
  const auto a = attempts_.lower_bound({r, thread});
  if (a == attempts_.end() || a->first.role != r || a->first.thread != thread) return nullptr;
  return a->first.at == attempt_key::stage::waiting ? nullptr : a->second;
}

lock_object::attempt_ptr lock_object::hold_to_release(role r, std::uint64_t thread) const {
  for (const auto preferred : {thread, std::uint64_t{0}})
    if (auto a = first_hold(r, preferred)) return a;
  // All others are holds of other threads: a lost one, otherwise the oldest one.
  attempt_ptr best;
  const auto rank = [](const attempt& a) { return std::pair{a.key.at, a.key.number}; };
  for (auto a = attempts_.lower_bound({r}); a != attempts_.end() && a->first.role == r; ++a)
    if (a->second->was_granted() && (!best || rank(*a->second) < rank(*best))) best = a->second;
  return best;
}

// --- acquiring

void lock_object::note_called(caller& who) {
  auto* const n = counters();
  if (n == nullptr) return;
  n->waiting.add();
  who.called = context_->now();
}

bool lock_object::busy_for(role r) const {
  if (r == role::reader || request_->granted_when == lock_request::rule::permits) return false;
  return kept_ || has_attempt(role::exclusive) || has_attempt(role::writer);
}

void lock_object::refuse(const caller_ptr& who, error_code why) {
  note_called(*who);
  complete(who, why);
}

void lock_object::acquire(const caller_ptr& who) {
  note_called(*who);
  if (kept_ && acquire_kept(who)) return;
  // If there will be no other session, no caller waits here. Its request fails at once and returns
  // the reason.
  if (!busy_for(who->role) || context_->session().end_reason) return begin(who);
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
  const auto seen = who->role == role::exclusive ? seen_holder_ : std::string{};
  if (request_->role != who->role || request_->if_contended != if_contended ||
      request_->seen_holder != seen) {
    auto request = *request_;
    request.role = who->role;
    request.if_contended = if_contended;
    request.seen_holder = seen;
    request_ = std::make_shared<const lock_request>(std::move(request));
  }
  if (admission_ && admission_->if_contended != if_contended) {
    auto admission = *admission_;
    admission.if_contended = if_contended;
    admission_ = std::make_shared<const lock_request>(std::move(admission));
  }
  const auto a = std::make_shared<attempt>(*this, who);
  a->key.number = ++last_number_;
  who->at_server = a;
  add(a);
  if (last_release_ != time_point{})
    context_->relocks_at_once = context_->now() - last_release_ < relock_window;
  const auto before = std::exchange(release_with_next_, {});
  if (before && who->waits && who->role == role::exclusive) return a->start(before);
  if (before) before->release_now();
  a->start();
}

void lock_object::ended(const attempt_ptr& a, error_code why) {
  remove(a);
  complete(std::exchange(a->waiting_caller, {}), why);
  start_next();
}

void lock_object::give_up(const caller_ptr& who, error_code why) {
  const auto a = who->at_server.lock();
  if (a && a->waiting_caller == who) {
    remove(a);
    a->waiting_caller.reset();
    note_released(a);
    a->release({});
    complete(who, why);
    return start_next();
  }
  if (std::erase(waiting_, who) > 0) complete(who, why);
}

// --- releasing

void lock_object::release(role r, std::uint64_t thread, std::function<void()> confirmed) {
  adopt_local_hold();
  const auto a = hold_to_release(r, thread);
  if (!a) {
    if (confirmed) context_->post(std::move(confirmed));
    return;
  }
  if (a->thread != 0 && a->thread != thread) note_release_by_other_thread();
  remove(a);
  release_attempt(a, std::move(confirmed));
  start_next();
}

void lock_object::release_hold(const hold_state& which) {
  const auto found = by_token_.find(which.token());
  // Local grants have the same token, so a token does not identify a hold.
  if (found == by_token_.end() || found->second->hold.get() != &which) return;
  const auto a = found->second;
  remove(a);
  release_attempt(a, {});
  start_next();
}

// If another caller waits, or the program usually locks again right after unlocking, the release is
// sent with the next creation. This saves a transaction. Without a waiting caller, the release is
// delayed only until the I/O thread runs the posted function. If no attempt has begun by then,
// relocks_at_once is cleared.
void lock_object::release_attempt(const attempt_ptr& a, std::function<void()> confirmed) {
  if (grant_next_locally(a) || keep(a)) {
    if (confirmed) context_->post(std::move(confirmed));
    return;
  }
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

void lock_object::downgrade(std::function<void(error_code)> completed, std::uint64_t thread) {
  adopt_local_hold();
  const auto a = hold_to_release(role::writer, 0);
  const auto complete_call = [context = context_, completed = std::move(completed)](error_code ec) {
    context->post([completed, ec] { completed(ec); });
  };
  if (!a || a->is_lost()) return complete_call(a ? refusal_of(*a->hold) : errc::lock_lost);
  if (a->thread == 0) {
    a->thread = thread;
    reorder(a);
  }
  a->downgrade([self = weak_from_this(), complete_call](error_code ec) {
    complete_call(ec);
    if (const auto o = self.lock()) o->start_next();  // a writer may wait locally
  });
}

void lock_object::close(error_code why) {
  release_kept(and_then::end);  // the hold of a local caller is now in attempts_
  if (kept_timer_) context_->cancel(*std::exchange(kept_timer_, {}));
  if (const auto before = std::exchange(release_with_next_, {})) before->release_now();
  complete_waiting(why);
  by_token_.clear();
  for (const auto& [key, a] : std::exchange(attempts_, {})) {
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
  refuse_callers_that_do_not_wait();
}

lock_object::attempt_ptr lock_object::latest_hold(role r, std::uint64_t thread) const {
  attempt_ptr latest;
  for (const auto at : {attempt_key::stage::lost, attempt_key::stage::held}) {
    auto a = attempts_.upper_bound({r, thread, at, last_number_});
    if (a == attempts_.begin()) continue;
    const auto& [key, held] = *--a;
    if (key.role != r || key.thread != thread || key.at != at) continue;
    if (!latest || key.number > latest->key.number) latest = held;
  }
  return latest;
}

std::shared_ptr<hold_state> lock_object::hold(role r, std::uint64_t thread) {
  adopt_local_hold();
  auto latest = latest_hold(r, thread);
  if (!latest)
    for (const auto& [key, a] : attempts_)
      if (key.role == r && a->was_granted() && (!latest || key.number > latest->key.number))
        latest = a;
  if (latest) return latest->hold;
  return last_hold(r);
}

bool lock_object::held_by_thread(role r, std::uint64_t thread) const {
  return first_hold(r, thread) != nullptr;
}

void lock_object::complete(const caller_ptr& who, error_code ec) {
  if (!who) return;
  const auto outcome = outcome_of(*who, ec);
  if (auto* const n = counters()) n->completed(outcome, context_->now() - who->called);
  context_->post([who, ec, outcome] {
    if (who->trace) who->trace->end_acquire(outcome, ec, who->hold);
    who->complete(ec);
  });
}

void lock_object::notify_user(std::function<void(const conclave::hold&)> lock_options::*callback,
                              std::shared_ptr<hold_state> h) {
  if (!((*options_).*callback)) return;
  call_user([o = options_, callback, h = std::move(h)] { ((*o).*callback)(conclave::hold{h}); });
}

// Another thread may open the next scope before the posted function runs. So the order of the
// callbacks must be decided here.
void lock_object::call_user(std::function<void()> f) {
  callbacks_->push(std::move(f));
  context_->post([callbacks = callbacks_] { callbacks->run(); });
}

}  // namespace conclave::recipes
