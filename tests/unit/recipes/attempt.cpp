#include "attempt.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <boost/system/errc.hpp>
#include <gtest/gtest.h>

namespace conclave::simulated {

// --- attempt

attempt::attempt(simulated::client& c, recipes::lock_request t, std::shared_ptr<referee> r)
    : client_{c.shared_from_this()}, terms_{std::move(t)}, referee_{std::move(r)} {}

void attempt::start() {
  const recipes::session_context::scope inside{*client_};
  contender_ = std::make_shared<recipes::contender>(client_, terms_, shared_from_this());
  contender_->start();
}

void attempt::leave() {
  left_ = true;
  if (std::exchange(holding_, false)) ended_at = referee_->now();
  const recipes::session_context::scope inside{*client_};
  contender_->release();
}

void attempt::report_revocations() {
  const recipes::session_context::scope inside{*client_};
  contender_->report_revocations();
}

void attempt::let_go() {
  contender_.reset();
  referee_.reset();
  when_granted = when_lost = when_gone = {};
}

std::string attempt::path(std::size_t i) const {
  if (i < paths_.size()) return paths_[i];
  return i < contender_->node_count() ? contender_->path(i) : std::string{};
}

std::string attempt::name() const { return path().substr(path().rfind('/') + 1); }

int attempt::count(std::string_view what) const {
  return static_cast<int>(std::count(journal_.begin(), journal_.end(), what));
}

// Users are told outside of the scope, like everybody.
void attempt::tell(std::string what, std::function<void(attempt&)> act) {
  client_->post([self = shared_from_this(), what = std::move(what), act = std::move(act)] {
    EXPECT_FALSE(self->gone_) << what << " behind the last that is told";
    self->journal_.push_back(what);
    act(*self);
  });
}

void attempt::enqueued(std::size_t before_us) {
  tell("enqueued " + std::to_string(before_us), [](auto&) {});
}

void attempt::granted() {
  tell("granted", [](attempt& a) {
    if (a.left_) return;  // it was on its way already
    a.granted_ = a.holding_ = true;
    a.token_ = a.contender_->fencing_token();
    for (std::size_t i = 0; i < a.contender_->node_count(); ++i)
      a.paths_.push_back(a.contender_->path(i));
    a.granted_at = a.referee_->now();
    a.referee_->granted(a);
    if (a.when_granted) a.when_granted();
  });
}

void attempt::failed(error_code why) {
  tell("failed " + name_of(why), [why](attempt& a) { a.failure_ = why; });
}

void attempt::suspended() {
  tell("suspended", [](attempt& a) { EXPECT_TRUE(a.holding_ || a.left_); });
}

void attempt::restored() {
  tell("restored", [](attempt& a) { EXPECT_TRUE(a.holding_ || a.left_); });
}

void attempt::lost(error_code why) {
  tell("lost " + name_of(why), [](attempt& a) {
    EXPECT_TRUE(a.granted_);
    if (std::exchange(a.holding_, false)) a.ended_at = a.referee_->now();
    if (a.when_lost) a.when_lost();
  });
}

void attempt::revocation_asked() {
  tell("revocation", [](auto&) {});
}

void attempt::gone() {
  tell("gone", [](attempt& a) {
    a.gone_ = true;
    EXPECT_FALSE(a.holding_);
    if (a.when_gone) a.when_gone();
  });
}

// --- referee

referee::referee(world& w) : world_{w} {}

void referee::complain(const attempt& a, const std::string& what) {
  const auto ms = std::chrono::duration_cast<std::chrono::microseconds>(now()).count();
  auto text = "at " + std::to_string(ms) + " us, client " + std::to_string(a.client_->index()) +
              ", " + a.path() + ": " + what;
  if (!quiet) ADD_FAILURE() << text;
  complaints_.push_back(std::move(text));
}

void referee::granted(attempt& a) {
  ++grants_;
  const auto time_left = [](attempt& x) {
    return x.client_->session().deadline > x.client_->now();
  };
  if (!time_left(a)) complain(a, "granted when its session's time was up");
  for (const auto& parent : a.terms_.parents) {
    for (const auto& other : attempts_) {
      const auto& theirs = other->terms_.parents;
      if (other.get() == &a || !other->holding_ ||
          std::find(theirs.begin(), theirs.end(), parent) == theirs.end())
        continue;
      // One that does not run cannot be told, but it can look at the clock.
      if (!other->client_->stood_still() || time_left(*other))
        complain(a, "granted while " + other->path() + " of client " +
                        std::to_string(other->client_->index()) + " holds");
    }
    auto& highest = highest_[parent];
    if (a.token_ <= highest)
      complain(a, "token " + std::to_string(a.token_) + " behind " + std::to_string(highest));
    highest = std::max(highest, a.token_);
  }
}

void referee::expired(std::int64_t session) {
  for (const auto& a : attempts_) {
    if (!a->granted_ || a->gone_ || a->contender_->session_id() != session) continue;
    ++expiries_of_holders_;
    if (!a->holding_) continue;
    const bool time_left = a->client_->session().deadline > a->client_->now();
    if (!a->client_->stood_still() || time_left) complain(*a, "expired before its holder was told");
  }
}

void referee::expect_no_orphans() {
  std::map<std::string, std::set<std::string>> live;
  for (const auto& a : attempts_) {
    for (std::size_t i = 0; i < a->terms_.parents.size(); ++i) {
      auto& names = live[a->terms_.parents[i]];
      if (!a->done()) names.insert(a->path(i).substr(a->path(i).rfind('/') + 1));
    }
  }
  for (const auto& [parent, names] : live) {
    const auto found = world_.by_hand().children(parent);
    if (std::set<std::string>(found.begin(), found.end()) == names) continue;
    std::string text = parent + " has";
    for (const auto& n : found) text += " " + n;
    text += ", in line are";
    for (const auto& n : names) text += " " + n;
    if (!quiet) ADD_FAILURE() << text;
    complaints_.push_back(std::move(text));
  }
}

// --- contest

contest::contest(const world_options& options, bool tickets)
    : world{options}, referee_{std::make_shared<simulated::referee>(world)} {
  request.parents = {"/locks/one"};
  request.owner = "somebody";
  if (!tickets) request.mode = recipes::lock_request::wait_mode::listing;
  world.expired = [r = referee_](std::int64_t session) { r->expired(session); };
  EXPECT_TRUE(world.attach_all());
}

attempt_pointer contest::begin(std::size_t client, const recipes::lock_request& t) {
  auto a = std::make_shared<attempt>(world.client(client), t, referee_);
  referee_->add(a);
  a->start();
  return a;
}

}  // namespace conclave::simulated
