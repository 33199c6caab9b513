#include "attempt.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <boost/system/errc.hpp>
#include <gtest/gtest.h>

namespace conclave::simulated {

// --- attempt

attempt::attempt(simulated::client& owner, recipes::lock_request r, std::shared_ptr<hold_checker> c)
    : client_{owner.shared_from_this()}, request_{std::move(r)}, checker_{std::move(c)} {}

void attempt::start() {
  const recipes::session_context::scope inside{*client_};
  contender_ = std::make_shared<recipes::contender>(client_, request_, shared_from_this());
  contender_->start();
}

void attempt::leave() {
  left_ = true;
  if (std::exchange(holding_, false)) ended_at = checker_->now();
  const recipes::session_context::scope inside{*client_};
  contender_->release();
}

void attempt::report_revocations() {
  const recipes::session_context::scope inside{*client_};
  contender_->report_revocations();
}

void attempt::drop_references() {
  contender_.reset();
  checker_.reset();
  when_granted = on_lost = when_gone = {};
}

std::string attempt::path(std::size_t i) const {
  if (i < paths_.size()) return paths_[i];
  return i < contender_->node_count() ? contender_->path(i) : std::string{};
}

std::string attempt::name() const { return path().substr(path().rfind('/') + 1); }

int attempt::count(std::string_view what) const {
  return static_cast<int>(std::count(journal_.begin(), journal_.end(), what));
}

// Reports the event outside of the scope, like the library.
void attempt::report(std::string what, std::function<void(attempt&)> act) {
  client_->post([self = shared_from_this(), what = std::move(what), act = std::move(act)] {
    EXPECT_FALSE(self->gone_) << what << " was reported after gone";
    self->journal_.push_back(what);
    act(*self);
  });
}

void attempt::enqueued(std::size_t position) {
  report("enqueued " + std::to_string(position), [](auto&) {});
}

void attempt::granted() {
  report("granted", [](attempt& a) {
    if (a.left_) return;  // the event was already posted
    a.granted_ = a.holding_ = true;
    a.token_ = a.contender_->fencing_token();
    for (std::size_t i = 0; i < a.contender_->node_count(); ++i)
      a.paths_.push_back(a.contender_->path(i));
    a.granted_at = a.checker_->now();
    a.checker_->granted(a);
    if (a.when_granted) a.when_granted();
  });
}

void attempt::failed(error_code why) {
  report("failed " + name_of(why), [why](attempt& a) { a.failure_ = why; });
}

void attempt::suspended() {
  report("suspended", [](attempt& a) { EXPECT_TRUE(a.holding_ || a.left_); });
}

void attempt::restored() {
  report("restored", [](attempt& a) { EXPECT_TRUE(a.holding_ || a.left_); });
}

void attempt::lost(error_code why) {
  report("lost " + name_of(why), [](attempt& a) {
    EXPECT_TRUE(a.granted_);
    if (std::exchange(a.holding_, false)) a.ended_at = a.checker_->now();
    if (a.on_lost) a.on_lost();
  });
}

void attempt::revocation_asked() {
  report("revocation", [](auto&) {});
}

void attempt::gone() {
  report("gone", [](attempt& a) {
    a.gone_ = true;
    EXPECT_FALSE(a.holding_);
    if (a.when_gone) a.when_gone();
  });
}

// --- hold_checker

hold_checker::hold_checker(world& w) : world_{w} {}

void hold_checker::report_violation(const attempt& a, const std::string& what) {
  const auto ms = std::chrono::duration_cast<std::chrono::microseconds>(now()).count();
  auto text = "at " + std::to_string(ms) + " us, client " + std::to_string(a.client_->index()) +
              ", " + a.path() + ": " + what;
  if (!record_only) ADD_FAILURE() << text;
  violations_.push_back(std::move(text));
}

void hold_checker::granted(attempt& a) {
  ++grants_;
  const auto time_left = [](attempt& x) {
    return x.client_->session().deadline > x.client_->now();
  };
  if (!time_left(a)) report_violation(a, "granted after the deadline of its session");
  for (const auto& parent : a.request_.parents) {
    for (const auto& other : attempts_) {
      const auto& theirs = other->request_.parents;
      if (other.get() == &a || !other->holding_ ||
          std::find(theirs.begin(), theirs.end(), parent) == theirs.end())
        continue;
      // A stopped process cannot be notified, but it can check its deadline.
      if (!other->client_->paused_until_now() || time_left(*other))
        report_violation(a, "granted while " + other->path() + " of client " +
                                std::to_string(other->client_->index()) + " holds");
    }
    auto& highest = highest_[parent];
    if (a.token_ <= highest)
      report_violation(
          a, "token " + std::to_string(a.token_) + " is not above " + std::to_string(highest));
    highest = std::max(highest, a.token_);
  }
}

void hold_checker::expired(std::int64_t session) {
  for (const auto& a : attempts_) {
    if (!a->granted_ || a->gone_ || a->contender_->session_id() != session) continue;
    ++expiries_of_holders_;
    if (!a->holding_) continue;
    const bool time_left = a->client_->session().deadline > a->client_->now();
    if (!a->client_->paused_until_now() || time_left)
      report_violation(*a, "session expired before its holder was notified");
  }
}

void hold_checker::expect_no_orphans() {
  std::map<std::string, std::set<std::string>> live;
  for (const auto& a : attempts_) {
    for (std::size_t i = 0; i < a->request_.parents.size(); ++i) {
      auto& names = live[a->request_.parents[i]];
      if (!a->done()) names.insert(a->path(i).substr(a->path(i).rfind('/') + 1));
    }
  }
  for (const auto& [parent, names] : live) {
    const auto found = world_.by_hand().children(parent);
    if (std::set<std::string>(found.begin(), found.end()) == names) continue;
    std::string text = parent + " has";
    for (const auto& n : found) text += " " + n;
    text += ", but the contenders have";
    for (const auto& n : names) text += " " + n;
    if (!record_only) ADD_FAILURE() << text;
    violations_.push_back(std::move(text));
  }
}

// --- contender_world

contender_world::contender_world(const world_options& options, bool tickets)
    : world{options}, checker_{std::make_shared<simulated::hold_checker>(world)} {
  request.parents = {"/locks/one"};
  request.owner = "somebody";
  if (!tickets) request.mode = recipes::lock_request::wait_mode::listing;
  world.expired = [c = checker_](std::int64_t session) { c->expired(session); };
  EXPECT_TRUE(world.wait_until_connected());
}

attempt_pointer contender_world::begin(std::size_t client, const recipes::lock_request& r) {
  auto a = std::make_shared<attempt>(world.client(client), r, checker_);
  checker_->add(a);
  a->start();
  return a;
}

}  // namespace conclave::simulated
