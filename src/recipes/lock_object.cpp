#include "recipes/lock_object.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace conclave::recipes {
namespace {

// If a caller locks again within this time after unlocking, it is expected to do so the next time.
constexpr auto relock_window = std::chrono::microseconds{50};

}  // namespace

// One caller's attempt to acquire the lock. It passes the events of its contender to the lock
// object and to the user. It outlives the lock object until the contender has removed its nodes.
class lock_object::attempt final : public contender_events,
                                   public std::enable_shared_from_this<attempt> {
 public:
  attempt(lock_object& owner, caller_ptr who, lock_request r)
      : waiting_caller{std::move(who)},
        role{waiting_caller->role},
        thread{waiting_caller->thread},
        hold{std::make_shared<hold_state>(owner.context_)},
        context_{owner.context_},
        owner_{owner.weak_from_this()},
        options_{owner.options_},
        request_{std::move(r)},
        gate_request_{owner.gate_},
        progress_callback_{owner.progress_callback_} {}

  caller_ptr waiting_caller;  // none: the call has completed
  lock_object::role role;
  std::uint64_t thread;
  bool is_lost = false;
  std::shared_ptr<hold_state> hold;

  bool was_granted() const { return hold->began(); }

  bool is_gone() const { return stage_ == stage::gone; }

  // Not part of the constructor, since the contender shares ownership of the attempt.
  void start(const attempt_ptr& before = {}) {
    report(progress::kind::begins);
    if (gate_request_) {
      gate_ = std::make_shared<gate_events>(shared_from_this());
      gate_->contender = std::make_shared<contender>(context_, *gate_request_, gate_);
      const auto c = gate_->contender;
      return c->start();
    }
    start_contender(before ? before->contender_ : nullptr);
  }

  void release(std::function<void()> confirmed) {
    restarts_ = false;
    report_released();
    release_gate();
    stage_ = stage::releasing;
    report(progress::kind::releasing);
    if (!contender_) {  // not started yet, or gone after the lock was lost
      if (confirmed) context_->post(std::move(confirmed));
      return;
    }
    when_gone_ = std::move(confirmed);
    const auto c = contender_;
    c->mute();
    c->release();
  }

  // As release(), but the next attempt may send the release with its own creation. Returns false if
  // that is not possible.
  bool release_with_next(std::function<void()>& confirmed) {
    if (!contender_ || !contender_->can_release_with_next()) return false;
    report_released();
    stage_ = stage::releasing;
    report(progress::kind::releasing);
    when_gone_ = std::move(confirmed);
    const auto c = contender_;
    c->mute();
    c->release_with_next();
    return true;
  }
  void release_now() {
    if (const auto c = contender_) c->release_now();
  }
  // Keeps an earlier callback and adds this one.
  void when_gone(std::function<void()> f) {
    if (!when_gone_) {
      when_gone_ = std::move(f);
      return;
    }
    when_gone_ = [first = std::move(when_gone_), f = std::move(f)] {
      first();
      f();
    };
  }

  void downgrade(std::function<void(error_code)> told) {
    const auto c = contender_;
    if (!c) return told(errc::lock_lost);
    c->downgrade([self = shared_from_this(), told = std::move(told)](error_code ec) {
      if (!ec) {
        self->role = role::reader;
        self->hold->move_to({self->contender_->path()});
        if (const auto o = self->owner_.lock()) {
          o->last_holds_.erase(role::writer);
          o->last_holds_[role::reader] = self->hold;
        }
      }
      told(ec);
    });
  }

  // --- contender_events

  void reached(step s) override {
    if (!progress_callback_) return;
    if (s == step::creating) node_.clear();  // in a new session the node has another name
    if (s == step::created) node_ = contender_->path();
    using kind = progress::kind;
    switch (s) {
      case step::creating: return report(kind::creating);
      case step::created: return report(kind::created);
      case step::listing: return report(kind::listing);
      case step::waiting: return report(kind::waiting);
      case step::watching: return report(kind::watching);
    }
  }
  void enqueued(std::size_t contenders_ahead) override {
    // Reported once, although there may be several paths or a new session.
    if (std::exchange(position_reported_, true)) return;
    context_->post([f = options_->on_enqueued, contenders_ahead] { f(contenders_ahead); });
  }
  void granted() override {
    release_gate();
    std::vector<std::string> nodes;
    for (std::size_t i = 0; i < contender_->node_count(); ++i) nodes.push_back(contender_->path(i));
    hold->begin(contender_->fencing_token(), contender_->session_id(), std::move(nodes));
    if (options_->on_revocation) contender_->report_revocations();
    report(progress::kind::granted);
    notify_user(options_->on_acquired);
    if (const auto o = owner_.lock()) {
      o->last_holds_[role] = hold;
      if (waiting_caller) waiting_caller->hold = hold;
      o->complete(std::exchange(waiting_caller, {}), {});
    }
  }
  void failed(error_code why) override {
    // With a gate, the attempt starts again at the gate if there will be another session.
    const bool can_restart = gate_request_ && context_->can_restart_after(why);
    release_gate();
    if (can_restart && contender_) {
      restarts_ = true;  // starts again when the contender is gone
      return;
    }
    // A caller that does not wait has left the wait queue: this is a release, not a failure.
    if (why == errc::taken) stage_ = stage::releasing;
    if (why == errc::taken)
      report(progress::kind::releasing);
    else
      report(progress::kind::failed, why);
    const auto o = owner_.lock();
    if (!o) return;
    if (why == errc::taken && contender_) o->seen_holder_ = contender_->holder_path();
    if (waiting_caller && contender_) waiting_caller->mismatch = contender_->mismatch();
    o->note_released(shared_from_this());
    o->ended(shared_from_this(), why);
  }
  void suspended() override {
    hold->suspend(true);
    notify_user(options_->on_suspended);
  }
  void restored() override {
    hold->suspend(false);
    notify_user(options_->on_restored);
  }
  void lost(error_code why) override {
    is_lost = true;
    hold->lose(why);
    context_->post([h = hold, f = options_->on_lost, why] {
      h->loss().request_stop();
      if (f) f(conclave::hold{h}, why);
    });
    if (!progress_callback_) return;
    report(progress::kind::lost, why);
    if (const auto o = owner_.lock()) {
      o->note_released(shared_from_this());
      o->ended(shared_from_this(), {});
    }
  }
  void revocation_asked() override { notify_user(options_->on_revocation); }
  void gone() override {
    const bool released = std::exchange(stage_, stage::gone) == stage::releasing;
    report(progress::kind::gone, {}, released);
    if (when_gone_) context_->post(std::move(when_gone_));
    // The attempt and its contender own each other. Posting destroys the contender outside of the
    // session_context::scope.
    context_->post([c = std::move(contender_)] {});
    if (!std::exchange(restarts_, false)) return;
    stage_ = stage::contending;
    start();
  }

 private:
  // The events of the contender for the gate.
  struct gate_events final : contender_events {
    explicit gate_events(std::shared_ptr<attempt> a) : context{a->context_}, behind{std::move(a)} {}
    void enqueued(std::size_t contenders_ahead) override {
      if (behind) behind->enqueued(contenders_ahead);
    }
    void granted() override {
      if (behind) behind->start_contender();
    }
    void failed(error_code why) override {
      if (const auto a = std::exchange(behind, {})) {
        a->gate_.reset();
        if (a->waiting_caller && contender) a->waiting_caller->mismatch = contender->mismatch();
        a->failed(why);
      }
    }
    void lost(error_code) override {
      if (const auto a = std::exchange(behind, {})) a->gate_lost();
    }
    void gone() override {
      context->post([c = std::move(contender)] {});
    }

    std::shared_ptr<recipes::session_context> context;
    std::shared_ptr<attempt> behind;
    std::shared_ptr<recipes::contender> contender;
  };

  void start_contender(std::shared_ptr<contender> before = {}) {
    contender_ = std::make_shared<contender>(context_, request_, shared_from_this());
    const auto c = contender_;
    c->start(std::move(before));
  }

  // The gate was lost before the grant, so other contenders may have passed it. The attempt starts
  // again at the gate.
  void gate_lost() {
    gate_.reset();
    if (!contender_ || was_granted()) return;
    restarts_ = true;
    const auto c = contender_;
    c->mute();
    c->release();
  }

  void release_gate() {
    const auto g = std::exchange(gate_, {});
    if (!g) return;
    g->behind.reset();
    if (const auto c = g->contender) {
      c->mute();
      c->release();
    }
  }

  void report_released() {
    if (hold->release()) notify_user(options_->on_released);
  }

  void report(progress::kind what, error_code why = {}, bool released = false) {
    if (progress_callback_) (*progress_callback_)({what, node_, why, released});
  }

  void notify_user(const std::function<void(const conclave::hold&)>& f) {
    if (f) context_->post([f, h = hold] { f(conclave::hold{h}); });
  }

  std::shared_ptr<session_context> context_;
  std::weak_ptr<lock_object> owner_;
  std::shared_ptr<const lock_options> options_;
  lock_request request_;
  std::optional<lock_request> gate_request_;
  std::shared_ptr<gate_events> gate_;
  std::shared_ptr<contender> contender_;
  std::function<void()> when_gone_;
  // `contending` also means holding.
  enum class stage { contending, releasing, gone };
  stage stage_ = stage::contending;
  bool position_reported_ = false;
  bool restarts_ = false;  // starts again when its contender is gone
  std::shared_ptr<const progress_callback> progress_callback_;
  std::string node_;  // used for the progress_callback only
};

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
    // The long wait is that for a permit, behind the gate. So a faster hand-off of the gate saves
    // little.
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
  // If there will be no other session, no caller waits here: the server request fails at once and
  // returns the reason.
  if (!busy_for(who->role) || context_->session().over) return begin(who);
  if (who->waits)
    wait_locally(who);
  else
    complete(who, errc::taken);
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
  const auto if_taken = who->waits ? on_contention::wait : on_contention::give_up;
  auto r = request_;
  r.role = who->role;
  r.if_taken = if_taken;
  r.seen_holder = request_.role == role::exclusive ? seen_holder_ : std::string{};
  if (gate_) gate_->if_taken = if_taken;
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
  // The lowest rank is released first, and the oldest hold among equals.
  const auto rank = [&](const attempt& a) {
    return std::pair{a.thread == thread ? 0 : a.thread == 0 ? 1 : 2, a.is_lost ? 0 : 1};
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
// sent with the next creation, which saves a transaction. Without a waiting caller, it is delayed
// only until the I/O thread runs the posted function. If no attempt has begun by then,
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

void lock_object::downgrade(std::function<void(error_code)> told) {
  const auto a = hold_to_release(role::writer, 0);
  const auto tell = [p = context_, told = std::move(told)](error_code ec) {
    p->post([told, ec] { told(ec); });
  };
  if (!a || a->is_lost) return tell(a ? refusal_of(*a->hold) : errc::lock_lost);
  a->downgrade([self = weak_from_this(), tell](error_code ec) {
    tell(ec);
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
