#include "recipes/lock_object.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace conclave::recipes {
namespace {

// A caller that locks again within this time after unlocking is expected to do so again.
constexpr auto at_once_again = std::chrono::microseconds{50};

}  // namespace

// What the contender of one caller tells, brought to the lock object and its user. It outlives the
// object while the contender withdraws.
class lock_object::attempt final : public contender_events,
                                   public std::enable_shared_from_this<attempt> {
 public:
  attempt(lock_object& owner, caller_ptr who, terms t)
      : for_whom{std::move(who)},
        role{for_whom->role},
        thread{for_whom->thread},
        hold{std::make_shared<hold_state>(owner.port_)},
        port_{owner.port_},
        owner_{owner.weak_from_this()},
        options_{owner.options_},
        terms_{std::move(t)},
        gate_terms_{owner.gate_},
        follower_{owner.follower_} {}

  caller_ptr for_whom;  // none: it was told
  lock_object::role role;
  std::uint64_t thread;
  bool lost_it = false;
  std::shared_ptr<hold_state> hold;

  bool granted_already() const { return hold->began(); }

  bool gone_already() const { return gone_; }

  // Not in the constructor: the contender keeps us.
  void start(const attempt_ptr& before = {}) {
    pass_on(progress::kind::begins);
    if (gate_terms_) {
      gate_ = std::make_shared<gate_events>(shared_from_this());
      gate_->contender = std::make_shared<contender>(port_, *gate_terms_, gate_);
      const auto c = gate_->contender;
      return c->start();
    }
    start_contender(before ? before->contender_ : nullptr);
  }

  void leave(std::function<void()> confirmed) {
    again_ = false;
    end_hold();
    open_gate();
    left_ = true;
    pass_on(progress::kind::leaves);
    if (!contender_) {  // not begun, or it was lost and has withdrawn
      if (confirmed) port_->deliver(std::move(confirmed));
      return;
    }
    when_gone_ = std::move(confirmed);
    const auto c = contender_;
    c->be_quiet();
    c->leave();
  }

  // As leave(), but for the next one to take along; false if that cannot be.
  bool leave_to_next(std::function<void()>& confirmed) {
    if (!contender_ || !contender_->can_leave_to_next()) return false;
    end_hold();
    left_ = true;
    pass_on(progress::kind::leaves);
    when_gone_ = std::move(confirmed);
    const auto c = contender_;
    c->be_quiet();
    c->leave_to_next();
    return true;
  }
  void leave_now() {
    if (const auto c = contender_) c->leave_now();
  }
  // As well.
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

  // --- what the contender tells

  void reached(step s) override {
    if (!follower_) return;
    if (s == step::enrols) node_.clear();  // again, in a new session
    if (s == step::enrolled) node_ = contender_->path();
    using kind = progress::kind;
    switch (s) {
      case step::enrols: return pass_on(kind::enrols);
      case step::enrolled: return pass_on(kind::enrolled);
      case step::looks: return pass_on(kind::looks);
      case step::waits: return pass_on(kind::waits);
      case step::watches: return pass_on(kind::watches);
    }
  }
  void enqueued(std::size_t before_us) override {
    if (std::exchange(enqueued_, true)) return;  // in several lines, or again
    port_->deliver([f = options_->on_enqueued, before_us] { f(before_us); });
  }
  void granted() override {
    open_gate();
    std::vector<std::string> nodes;
    for (std::size_t i = 0; i < contender_->seats(); ++i) nodes.push_back(contender_->path(i));
    hold->begin(contender_->token(), contender_->session(), std::move(nodes));
    if (options_->on_revocation) contender_->heed_revocation();
    pass_on(progress::kind::granted);
    tell(options_->on_acquired);
    if (const auto o = owner_.lock()) {
      o->last_holds_[role] = hold;
      if (for_whom) for_whom->hold = hold;
      o->answer(std::exchange(for_whom, {}), {});
    }
  }
  void failed(error_code why) override {
    // Behind a gate the whole way is gone again, if there is another session to go it in.
    const bool in_vain = gate_terms_ && port_->begins_again(why);
    open_gate();
    if (in_vain && contender_) {
      again_ = true;  // when it has withdrawn
      return;
    }
    // Who would not wait goes as one that has waited enough.
    left_ = why == errc::taken;
    pass_on(left_ ? progress::kind::leaves : progress::kind::failed, left_ ? error_code{} : why);
    const auto o = owner_.lock();
    if (!o) return;
    if (why == errc::taken && contender_) o->seen_holder_ = contender_->seen_holder();
    if (for_whom && contender_) for_whom->mismatch = contender_->mismatch();
    o->dropped(shared_from_this());
    o->ended(shared_from_this(), why);
  }
  void suspended() override {
    hold->suspend(true);
    tell(options_->on_suspended);
  }
  void restored() override {
    hold->suspend(false);
    tell(options_->on_restored);
  }
  void lost(error_code why) override {
    lost_it = true;
    hold->lose(why);
    port_->deliver([h = hold, f = options_->on_lost, why] {
      h->loss().request_stop();
      if (f) f(conclave::hold{h}, why);
    });
    if (!follower_) return;
    pass_on(progress::kind::lost, why);
    if (const auto o = owner_.lock()) {
      o->dropped(shared_from_this());
      o->ended(shared_from_this(), {});
    }
  }
  void revocation_asked() override { tell(options_->on_revocation); }
  void gone() override {
    gone_ = true;
    pass_on(progress::kind::gone);
    if (when_gone_) port_->deliver(std::move(when_gone_));
    // The contender keeps us and we keep it: this is the end of both, or of one.
    port_->deliver([c = std::move(contender_)] {});
    if (std::exchange(again_, false)) start();
  }

 private:
  // What the contender for the gate tells.
  struct gate_events final : contender_events {
    explicit gate_events(std::shared_ptr<attempt> a) : port{a->port_}, behind{std::move(a)} {}
    void enqueued(std::size_t before_us) override {
      if (behind) behind->enqueued(before_us);
    }
    void granted() override {
      if (behind) behind->start_contender();
    }
    void failed(error_code why) override {
      if (const auto a = std::exchange(behind, {})) {
        a->gate_.reset();
        if (a->for_whom && contender) a->for_whom->mismatch = contender->mismatch();
        a->failed(why);
      }
    }
    void lost(error_code) override {
      if (const auto a = std::exchange(behind, {})) a->gate_lost();
    }
    void gone() override {
      port->deliver([c = std::move(contender)] {});
    }

    std::shared_ptr<recipes::port> port;
    std::shared_ptr<attempt> behind;
    std::shared_ptr<recipes::contender> contender;
  };

  void start_contender(std::shared_ptr<contender> before = {}) {
    contender_ = std::make_shared<contender>(port_, terms_, shared_from_this());
    const auto c = contender_;
    c->start(std::move(before));
  }

  // The way that leads here was lost, so we were not alone: back to its beginning.
  void gate_lost() {
    gate_.reset();
    if (!contender_ || granted_already()) return;
    again_ = true;
    const auto c = contender_;
    c->be_quiet();
    c->leave();
  }

  void open_gate() {
    const auto g = std::exchange(gate_, {});
    if (!g) return;
    g->behind.reset();
    if (const auto c = g->contender) {
      c->be_quiet();
      c->leave();
    }
  }

  void end_hold() {
    if (hold->release()) tell(options_->on_released);
  }

  void pass_on(progress::kind what, error_code why = {}) {
    if (follower_) (*follower_)({what, node_, why, left_});
  }

  void tell(const std::function<void(const conclave::hold&)>& f) {
    if (f) port_->deliver([f, h = hold] { f(conclave::hold{h}); });
  }

  std::shared_ptr<port> port_;
  std::weak_ptr<lock_object> owner_;
  std::shared_ptr<const lock_options> options_;
  terms terms_;
  std::optional<terms> gate_terms_;
  std::shared_ptr<gate_events> gate_;
  std::shared_ptr<contender> contender_;
  std::function<void()> when_gone_;
  bool enqueued_ = false;
  bool again_ = false;
  std::shared_ptr<const follower> follower_;
  std::string node_;  // kept for the follower only
  bool left_ = false;
  bool gone_ = false;
};

lock_object::lock_object(std::shared_ptr<port> p, terms t, std::optional<terms> gate,
                         const lock_options& options, follower f)
    : port_{std::move(p)},
      terms_{std::move(t)},
      gate_{std::move(gate)},
      options_{std::make_shared<lock_options>(options)},
      follower_{f ? std::make_shared<follower>(std::move(f)) : nullptr} {
  const auto set = [&](terms& each) {
    each.owner = options.owner;
    each.tickets = options.tickets;
  };
  set(terms_);
  if (gate_) {
    set(*gate_);
    gate_->hurried = false;  // what is waited for long lies behind it
  }
  auto& line = gate_ ? *gate_ : terms_;
  line.counted = static_cast<bool>(options.on_enqueued);
}

bool lock_object::busy_for(role r) const {
  if (r == role::reader || terms_.rule == rule::permits) return false;
  return std::any_of(attempts_.begin(), attempts_.end(),
                     [](const auto& a) { return a->role != role::reader; });
}

void lock_object::acquire(const caller_ptr& who) {
  // When the session is over for good nobody waits here any more: the server is asked, and the
  // refusal says why.
  if (!busy_for(who->role) || port_->session().over) return begin(who);
  if (who->patient)
    wait_here(who);
  else
    answer(who, errc::taken);
}

// A lost lock blocks this object until it is unlocked. Its owner may never do that once the client
// is closed, so those who wait here learn of the session's end by themselves.
void lock_object::wait_here(const caller_ptr& who) {
  waiting_.push_back(who);
  if (std::exchange(knows_of_the_end_, true)) return;
  port_->when_over(weak_from_this(), [this](error_code why) { answer_waiting(why); });
}

void lock_object::answer_waiting(error_code why) {
  for (const auto& who : std::exchange(waiting_, {})) answer(who, why);
}

void lock_object::begin(const caller_ptr& who) {
  auto t = terms_;
  t.role = who->role;
  t.patient = who->patient;
  t.seen_holder = terms_.role == role::exclusive ? seen_holder_ : std::string{};
  if (gate_) gate_->patient = who->patient;
  const auto a = std::make_shared<attempt>(*this, who, std::move(t));
  attempts_.push_back(a);
  if (last_release_ != time_point{})
    port_->locks_again = port_->now() - last_release_ < at_once_again;
  const auto before = std::exchange(parting_, {});
  if (before && who->patient && who->role == role::exclusive) return a->start(before);
  if (before) before->leave_now();
  a->start();
}

void lock_object::ended(const attempt_ptr& a, error_code why) {
  std::erase(attempts_, a);
  answer(std::exchange(a->for_whom, {}), why);
  next();
}

void lock_object::give_up(const caller_ptr& who, error_code why) {
  const auto at_server = std::find_if(attempts_.begin(), attempts_.end(),
                                      [&](const auto& a) { return a->for_whom == who; });
  if (at_server != attempts_.end()) {
    const auto a = *at_server;
    attempts_.erase(at_server);
    a->for_whom.reset();
    dropped(a);
    a->leave({});
    answer(who, why);
    return next();
  }
  if (std::erase(waiting_, who) > 0) answer(who, why);
}

lock_object::attempt_ptr lock_object::hold_to_give_back(role r, std::uint64_t thread) const {
  // Lower is better; among equals the oldest.
  const auto rank = [&](const attempt& a) {
    return std::pair{a.thread == thread ? 0 : a.thread == 0 ? 1 : 2, a.lost_it ? 0 : 1};
  };
  attempt_ptr best;
  for (const auto& a : attempts_)
    if (a->role == r && a->granted_already() && (!best || rank(*a) < rank(*best))) best = a;
  return best;
}

void lock_object::release(role r, std::uint64_t thread, std::function<void()> confirmed) {
  const auto a = hold_to_give_back(r, thread);
  if (!a) {
    if (confirmed) port_->deliver(std::move(confirmed));
    return;
  }
  std::erase(attempts_, a);
  let_go(a, std::move(confirmed));
  next();
}

void lock_object::release_hold(std::int64_t token) {
  const auto a = std::find_if(attempts_.begin(), attempts_.end(), [&](const auto& each) {
    return each->granted_already() && each->hold->token() == token;
  });
  if (a == attempts_.end()) return;
  const auto held = *a;
  attempts_.erase(a);
  let_go(held, {});
  next();
}

// Who locks again right after unlocking, or has another caller waiting, saves the server a write:
// the release goes along with the next creation. It waits for that only as long as the I/O thread
// takes to come round, and only where the last time told that it is worth it.
void lock_object::let_go(const attempt_ptr& a, std::function<void()> confirmed) {
  dropped(a);
  last_release_ = port_->now();
  const bool worth_it = !waiting_.empty() || (port_->locks_again && !confirmed);
  if (!worth_it || !a->leave_to_next(confirmed)) return a->leave(std::move(confirmed));
  parting_ = a;
  if (waiting_.empty())
    port_->call_soon([weak = weak_from_this(), a] {
      const auto self = weak.lock();
      if (self && self->parting_ == a) {
        self->parting_.reset();
        self->port_->locks_again = false;
      }
      a->leave_now();
    });
}

void lock_object::downgrade(std::function<void(error_code)> told) {
  const auto a = hold_to_give_back(role::writer, 0);
  const auto tell = [p = port_, told = std::move(told)](error_code ec) {
    p->deliver([told, ec] { told(ec); });
  };
  if (!a || a->lost_it) return tell(a ? refusal_of(*a->hold) : errc::lock_lost);
  a->downgrade([self = weak_from_this(), tell](error_code ec) {
    tell(ec);
    if (const auto o = self.lock()) o->next();  // a writer of ours may stand in line behind it
  });
}

void lock_object::close(error_code why) {
  if (const auto before = std::exchange(parting_, {})) before->leave_now();
  answer_waiting(why);
  for (const auto& a : std::exchange(attempts_, {})) {
    answer(std::exchange(a->for_whom, {}), why);
    dropped(a);
    a->leave({});
  }
}

void lock_object::dropped(const attempt_ptr& a) {
  if (!follower_) return;
  std::erase_if(leaving_, [](const auto& weak) {
    const auto old = weak.lock();
    return !old || old->gone_already();
  });
  leaving_.push_back(a);
}

void lock_object::when_all_gone(std::function<void()> confirmed) {
  const auto to_come = std::make_shared<std::atomic<std::size_t>>(1);
  const auto one_less = [to_come, confirmed = std::move(confirmed)] {
    if (--*to_come == 0) confirmed();
  };
  for (const auto& weak : leaving_)
    if (const auto a = weak.lock(); a && !a->gone_already()) {
      ++*to_come;
      a->when_gone(one_less);
    }
  port_->deliver(one_less);
}

void lock_object::next() {
  if (waiting_.empty() || busy_for(waiting_.front()->role)) return;
  const auto who = std::move(waiting_.front());
  waiting_.pop_front();
  begin(who);
}

std::shared_ptr<hold_state> lock_object::hold(role r, std::uint64_t thread) const {
  attempt_ptr latest;
  for (const auto& a : attempts_) {
    if (a->role != r || !a->granted_already()) continue;
    if (!latest || a->thread == thread || latest->thread != thread) latest = a;
  }
  if (latest) return latest->hold;
  const auto last = last_holds_.find(r);
  return last == last_holds_.end() ? nullptr : last->second;
}

bool lock_object::held_by_thread(role r, std::uint64_t thread) const {
  return std::any_of(attempts_.begin(), attempts_.end(), [&](const auto& a) {
    return a->role == r && a->granted_already() && a->thread == thread;
  });
}

void lock_object::answer(const caller_ptr& who, error_code ec) {
  if (who) port_->deliver([who, ec] { who->tell(ec); });
}

}  // namespace conclave::recipes
