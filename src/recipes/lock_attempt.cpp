#include "recipes/lock_attempt.hpp"

#include <utility>

namespace conclave::recipes {

// The events of the contender for the admission lock.
struct lock_object::attempt::admission_events final : contender_events {
  explicit admission_events(std::shared_ptr<attempt> a)
      : context{a->context_}, behind{std::move(a)} {}
  void enqueued(std::size_t contenders_ahead) override {
    if (behind) behind->enqueued(contenders_ahead);
  }
  void granted() override {
    if (behind) behind->start_contender();
  }
  void failed(error_code why) override {
    if (const auto a = std::exchange(behind, {})) {
      a->admission_.reset();
      if (a->waiting_caller && contender) a->waiting_caller->mismatch = contender->mismatch();
      a->failed(why);
    }
  }
  void lost(error_code) override {
    if (const auto a = std::exchange(behind, {})) a->admission_lost();
  }
  void gone() override {
    context->post([c = std::move(contender)] {});
  }

  std::shared_ptr<recipes::session_context> context;
  std::shared_ptr<attempt> behind;
  std::shared_ptr<recipes::contender> contender;
};

lock_object::attempt::attempt(lock_object& owner, caller_ptr who)
    : waiting_caller{std::move(who)},
      role{waiting_caller->role},
      thread{waiting_caller->thread},
      hold{std::make_shared<hold_state>(owner.context_)},
      context_{owner.context_},
      owner_{owner.weak_from_this()},
      options_{owner.options_},
      request_{owner.request_},
      admission_request_{owner.admission_},
      progress_callback_{owner.progress_callback_},
      counters_{owner.counters()} {}

void lock_object::attempt::start(const attempt_ptr& before) {
  report(progress::kind::begins);
  if (admission_request_) {
    admission_ = std::make_shared<admission_events>(shared_from_this());
    admission_->contender =
        std::make_shared<contender>(context_, admission_request_, admission_, text_of_wait());
    const auto c = admission_->contender;
    return c->start();
  }
  start_contender(before ? before->contender_ : nullptr);
}

std::string lock_object::attempt::text_of_wait() const {
  return waiting_caller ? waiting_caller->wait : std::string{};
}

void lock_object::attempt::start_contender(std::shared_ptr<contender> before) {
  contender_ = std::make_shared<contender>(context_, request_, shared_from_this(), text_of_wait());
  const auto c = contender_;
  c->start(std::move(before));
}

// --- release

void lock_object::attempt::begin_release() {
  if (hold->release()) {
    note_hold_ended({});
    notify_user(&lock_options::on_released);
  }
  release_admission();
  stage_ = stage::releasing;
  report(progress::kind::releasing);
}

void lock_object::attempt::release(std::function<void()> confirmed) {
  begin_release();
  if (!contender_) {  // not started yet, or gone after the lock was lost
    if (confirmed) context_->post(std::move(confirmed));
    return;
  }
  when_gone_ = std::move(confirmed);
  const auto c = contender_;
  c->mute();
  c->release();
}

bool lock_object::attempt::release_with_next(std::function<void()>& confirmed) {
  if (!contender_ || !contender_->can_release_with_next()) return false;
  begin_release();
  when_gone_ = std::move(confirmed);
  const auto c = contender_;
  c->mute();
  c->release_with_next();
  return true;
}

void lock_object::attempt::release_now() {
  if (const auto c = contender_) c->release_now();
}

void lock_object::attempt::when_gone(std::function<void()> f) {
  if (!when_gone_) {
    when_gone_ = std::move(f);
    return;
  }
  when_gone_ = [first = std::move(when_gone_), f = std::move(f)] {
    first();
    f();
  };
}

void lock_object::attempt::release_admission() {
  const auto admission = std::exchange(admission_, {});
  if (!admission) return;
  admission->behind.reset();
  if (const auto c = admission->contender) {
    c->mute();
    c->release();
  }
}

void lock_object::attempt::downgrade(std::function<void(error_code)> completed) {
  const auto c = contender_;
  if (!c) return completed(errc::lock_lost);
  c->downgrade([self = shared_from_this(), completed = std::move(completed)](error_code ec) {
    if (!ec) {
      self->role = role::reader;
      self->hold->move_to({self->contender_->path()}, self->contender_->id());
      if (const auto o = self->owner_.lock()) {
        o->reorder(self);
        o->last_hold(role::writer).reset();
        o->last_hold(role::reader) = self->hold;
      }
    }
    completed(ec);
  });
}

// --- events of the contender for the lock

void lock_object::attempt::reached(step s) {
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

void lock_object::attempt::enqueued(std::size_t contenders_ahead) {
  // Report this once, even if there are several paths or a new session.
  if (std::exchange(position_reported_, true)) return;
  if (const auto o = owner_.lock())
    o->call_user([f = options_, contenders_ahead] { f->on_enqueued(contenders_ahead); });
}

void lock_object::attempt::begin_hold() {
  std::vector<std::string> nodes;
  for (std::size_t i = 0; i < contender_->node_count(); ++i) nodes.push_back(contender_->path(i));
  hold->begin(contender_->fencing_token(), contender_->session_id(), std::move(nodes),
              contender_->id());
}

void lock_object::attempt::note_hold_begun() {
  if (counters_ == nullptr) return;
  counters_->holding.add();
  hold_begun_ = context_->now();
}

void lock_object::attempt::note_hold_ended(error_code why_lost) {
  if (const auto begun = std::exchange(hold_begun_, {})) {
    counters_->holding.subtract_one();
    counters_->hold.add(context_->now() - *begun);
  }
  if (why_lost && counters_ != nullptr) counters_->lost.add(why_lost);
  if (trace_) context_->post([t = std::exchange(trace_, {}), why_lost] { t->end_hold(why_lost); });
}

void lock_object::attempt::granted() {
  release_admission();
  begin_hold();
  note_hold_begun();
  if (waiting_caller) trace_ = waiting_caller->trace;
  if (options_->on_revocation) contender_->report_revocations();
  report(progress::kind::granted);
  notify_user(&lock_options::on_acquired);
  if (const auto o = owner_.lock()) {
    o->last_hold(role) = hold;
    o->reorder(shared_from_this());
    if (waiting_caller) waiting_caller->hold = hold;
    o->complete(std::exchange(waiting_caller, {}), {});
    // If other contenders existed at the arrival, the lock will not be kept.
    if (o->keeps_locks() && role != role::reader && contender_->granted_at_once())
      contender_->watch_for_others();
  }
}

void lock_object::attempt::failed(error_code why) {
  // With an admission lock, the attempt starts again at the admission lock if there will be another
  // session.
  const bool can_restart = admission_request_ && context_->can_restart_after(why);
  release_admission();
  if (can_restart && contender_) {
    stage_ = stage::restarting;
    return;
  }
  // A caller that does not wait has left the wait queue. This counts as a release, not as a
  // failure.
  if (why == errc::lock_busy) {
    stage_ = stage::releasing;
    report(progress::kind::releasing);
  } else {
    report(progress::kind::failed, why);
  }
  const auto o = owner_.lock();
  if (!o) return;
  if (why == errc::lock_busy && contender_) o->seen_holder_ = contender_->holder_path();
  if (waiting_caller && contender_) waiting_caller->mismatch = contender_->mismatch();
  o->note_released(shared_from_this());
  o->ended(shared_from_this(), why);
}

// The admission lock was lost before the grant, so other contenders may have passed it. The attempt
// starts again at the admission lock.
void lock_object::attempt::admission_lost() {
  admission_.reset();
  if (!contender_ || was_granted()) return;
  stage_ = stage::restarting;
  const auto c = contender_;
  c->mute();
  c->release();
}

void lock_object::attempt::suspended() {
  adopt_local_hold();
  if (is_kept()) {
    if (const auto o = owner_.lock()) o->kept_suspended();
    return;
  }
  hold->suspend(true);
  notify_user(&lock_options::on_suspended);
}

void lock_object::attempt::restored() {
  if (is_kept()) {
    if (const auto o = owner_.lock()) o->open_if_alone();
    return;
  }
  hold->suspend(false);
  notify_user(&lock_options::on_restored);
}

void lock_object::attempt::lost(error_code why) {
  adopt_local_hold();
  if (is_kept()) {
    if (const auto o = owner_.lock()) o->release_kept(and_then::start_next);
    return;
  }
  hold->lose(why);
  note_hold_ended(why);
  const auto request_stop = [h = hold] { h->loss().request_stop(); };
  context_->post(request_stop);
  const auto o = owner_.lock();
  if (o && options_->on_lost) {
    // Another thread may call on_lost before the posted function runs.
    o->call_user(request_stop);
    o->call_user([f = options_, h = hold, why] { f->on_lost(conclave::hold{h}, why); });
  }
  if (o) o->reorder(shared_from_this());
  if (!progress_callback_) return;
  report(progress::kind::lost, why);
  if (o) {
    o->note_released(shared_from_this());
    o->ended(shared_from_this(), {});
  }
}

void lock_object::attempt::revocation_asked() {
  adopt_local_hold();
  was_revoked_ = true;
  if (!is_kept()) return notify_user(&lock_options::on_revocation);
  if (const auto o = owner_.lock()) o->release_kept(and_then::start_next);
}

// --- local grants

void lock_object::attempt::alone() {
  if (const auto o = owner_.lock()) o->others_checked(shared_from_this());
}

void lock_object::attempt::recalled() {
  if (const auto o = owner_.lock()) o->others_checked(shared_from_this());
}

bool lock_object::attempt::can_grant_locally() const {
  return contender_ && !was_revoked_ && contender_->certainly_holds();
}

recall_watch::state lock_object::attempt::others() const {
  return contender_ ? contender_->others() : recall_watch::state::off;
}

void lock_object::attempt::end_local_hold() {
  if (hold->release()) {
    note_hold_ended({});
    notify_user(&lock_options::on_released);
  }
  stage_ = stage::kept;
  contender_->report_revocations();
}

void lock_object::attempt::begin_local_hold(std::shared_ptr<acquisition_trace> t) {
  begin_untimed_hold();
  note_hold_begun();
  trace_ = std::move(t);
}

void lock_object::attempt::begin_untimed_hold() {
  stage_ = stage::contending;
  hold = std::make_shared<hold_state>(context_);
  begin_hold();
}

void lock_object::attempt::adopt_local_hold() {
  if (const auto o = owner_.lock(); o && o->kept_.get() == this) o->adopt_local_hold();
}

void lock_object::attempt::gone() {
  const auto before = std::exchange(stage_, stage::gone);
  report(progress::kind::gone, {}, before == stage::releasing);
  if (when_gone_) context_->post(std::move(when_gone_));
  // The attempt and its contender own each other. Posting destroys the contender outside of the
  // session_context::scope.
  context_->post([c = std::move(contender_)] {});
  if (before != stage::restarting) return;
  stage_ = stage::contending;
  start();
}

// --- notifications

void lock_object::attempt::report(progress::kind what, error_code why, bool released) {
  if (progress_callback_) (*progress_callback_)({what, node_, why, released});
}

void lock_object::attempt::notify_user(
    std::function<void(const conclave::hold&)> lock_options::*callback) {
  if (const auto o = owner_.lock()) o->notify_user(callback, hold);
}

}  // namespace conclave::recipes
