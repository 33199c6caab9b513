#include "recipes/lock_object.hpp"

#include <algorithm>
#include <utility>

namespace conclave::recipes {

// What one contender tells, brought to the lock object and its user. It outlives the object while
// the contender withdraws.
class lock_object::attempt final : public contender_events,
                                   public std::enable_shared_from_this<attempt> {
 public:
  explicit attempt(lock_object& owner)
      : port_{owner.port_},
        owner_{owner.weak_from_this()},
        hold_{owner.hold_},
        options_{owner.options_} {}

  // Not in the constructor: the contender keeps us.
  void start(const terms& t) {
    contender_ = std::make_shared<contender>(port_, t, shared_from_this());
    contender_->start();
  }

  void leave(std::function<void()> confirmed) {
    hold_->release();
    if (!contender_) {  // it was lost, and has withdrawn
      if (confirmed) port_->deliver(std::move(confirmed));
      return;
    }
    when_gone_ = std::move(confirmed);
    contender_->be_quiet();
    const auto c = contender_;
    c->leave();
  }

  void enqueued(std::size_t before_us) override {
    port_->deliver([f = options_.on_enqueued, before_us] { f(before_us); });
  }
  void granted() override {
    std::vector<std::string> nodes;
    for (std::size_t i = 0; i < contender_->seats(); ++i) nodes.push_back(contender_->path(i));
    hold_->begin(contender_->token(), contender_->session(), std::move(nodes));
    if (options_.on_revocation) contender_->heed_revocation();
    if (const auto o = owner_.lock()) o->answer(std::exchange(o->at_server_, {}), {});
  }
  void failed(error_code why) override {
    const auto o = owner_.lock();
    if (!o) return;
    if (why == errc::taken) o->seen_holder_ = contender_->seen_holder();
    const auto self = shared_from_this();
    o->attempt_.reset();
    o->answer(std::exchange(o->at_server_, {}), why);
    o->next();
  }
  void suspended() override {
    hold_->suspend(true);
    tell(options_.on_suspended);
  }
  void restored() override {
    hold_->suspend(false);
    tell(options_.on_restored);
  }
  void lost(error_code why) override {
    hold_->release();
    port_->deliver([h = hold_, f = options_.on_lost, why] {
      h->loss().request_stop();
      if (f) f(conclave::hold{h}, why);
    });
  }
  void revocation_asked() override { tell(options_.on_revocation); }
  void gone() override {
    if (when_gone_) port_->deliver(std::move(when_gone_));
    // The contender keeps us and we keep it: this is the end of both.
    port_->deliver([c = std::move(contender_)] {});
  }

 private:
  void tell(const std::function<void(const conclave::hold&)>& f) {
    if (f) port_->deliver([f, h = hold_] { f(conclave::hold{h}); });
  }

  std::shared_ptr<port> port_;
  std::weak_ptr<lock_object> owner_;
  std::shared_ptr<hold_state> hold_;
  lock_options options_;
  std::shared_ptr<contender> contender_;
  std::function<void()> when_gone_;
};

lock_object::lock_object(std::shared_ptr<port> p, std::vector<std::string> paths, layout::role role,
                         const lock_options& options)
    : port_{std::move(p)}, options_{options}, hold_{std::make_shared<hold_state>(port_)} {
  terms_.parents = std::move(paths);
  terms_.layout = options.layout;
  terms_.role = role;
  terms_.owner = options.owner;
  terms_.tickets = options.tickets;
  terms_.counted = static_cast<bool>(options.on_enqueued);
}

void lock_object::acquire(const caller_ptr& who) {
  if (!attempt_) return begin(who);
  if (who->patient)
    waiting_.push_back(who);
  else
    answer(who, errc::taken);
}

void lock_object::begin(const caller_ptr& who) {
  at_server_ = who;
  hold_ = std::make_shared<hold_state>(port_);
  auto t = terms_;
  t.patient = who->patient;
  t.seen_holder = seen_holder_;
  attempt_ = std::make_shared<attempt>(*this);
  const auto a = attempt_;
  a->start(t);
}

void lock_object::give_up(const caller_ptr& who, error_code why) {
  if (who == at_server_) {
    at_server_.reset();
    std::exchange(attempt_, {})->leave({});
    answer(who, why);
    return next();
  }
  if (std::erase(waiting_, who) > 0) answer(who, why);
}

void lock_object::release(std::function<void()> confirmed) {
  if (!attempt_ || at_server_) {
    if (confirmed) port_->deliver(std::move(confirmed));
    return;
  }
  std::exchange(attempt_, {})->leave(std::move(confirmed));
  next();
}

void lock_object::close(error_code why) {
  for (const auto& who : std::exchange(waiting_, {})) answer(who, why);
  if (at_server_) give_up(at_server_, why);
  release();
}

void lock_object::next() {
  if (attempt_ || waiting_.empty()) return;
  const auto who = std::move(waiting_.front());
  waiting_.pop_front();
  begin(who);
}

void lock_object::answer(const caller_ptr& who, error_code ec) {
  if (who) port_->deliver([who, ec] { who->tell(ec); });
}

}  // namespace conclave::recipes
