// Contenders in a simulated world, what they were told, and a referee who sees all of them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "recipes/contender.hpp"
#include "simulation/world/message_text.hpp"
#include "simulation/world/world.hpp"

namespace conclave::simulated {

class referee;

// One contender and its user.
class attempt final : public recipes::contender_events,
                      public std::enable_shared_from_this<attempt> {
 public:
  attempt(simulated::client& c, recipes::lock_request t, std::shared_ptr<referee> r);

  void start();
  void leave();
  void report_revocations();

  simulated::client& client() noexcept { return *client_; }
  const recipes::lock_request& request() const noexcept { return terms_; }
  // What was told, in order: "granted", "lost deadline_passed", ...
  const std::vector<std::string>& journal() const noexcept { return journal_; }
  int count(std::string_view what) const;
  bool was_granted() const noexcept { return granted_; }
  bool holding() const noexcept { return holding_; }
  bool done() const noexcept { return gone_; }
  bool left() const noexcept { return left_; }
  error_code failure() const noexcept { return failure_; }
  std::int64_t token() const noexcept { return token_; }
  std::int64_t session() const { return contender_->session_id(); }
  std::string path(std::size_t i = 0) const;
  std::string name() const;
  recipes::contender& contender() noexcept { return *contender_; }
  instant granted_at{0};
  instant ended_at{0};

  // What the user does when it is told.
  std::function<void()> when_granted, when_lost, when_gone;
  // Of its contender and its referee, who keep it as well.
  void let_go();

 private:
  void tell(std::string what, std::function<void(attempt&)> act);

  void enqueued(std::size_t before_us) override;
  void granted() override;
  void failed(error_code why) override;
  void suspended() override;
  void restored() override;
  void lost(error_code why) override;
  void revocation_asked() override;
  void gone() override;

  std::shared_ptr<simulated::client> client_;
  recipes::lock_request terms_;
  std::shared_ptr<referee> referee_;
  std::shared_ptr<recipes::contender> contender_;
  std::vector<std::string> journal_;
  bool granted_ = false;
  bool holding_ = false;
  bool left_ = false;
  bool gone_ = false;
  error_code failure_;
  std::int64_t token_ = 0;
  std::vector<std::string> paths_;  // of a hold
  friend class referee;
};
using attempt_pointer = std::shared_ptr<attempt>;

// Fails the test when two hold one lock at a time, when a token does not rise, when a lock is
// granted to somebody whose time is up, and when the server ends a session whose holder was not
// told before.
class referee {
 public:
  explicit referee(world& w);
  void add(const attempt_pointer& a) { attempts_.push_back(a); }
  void granted(attempt& a);
  void expired(std::int64_t session);
  std::vector<attempt_pointer> release_all() { return std::exchange(attempts_, {}); }
  instant now() const { return world_.now(); }
  int grants() const noexcept { return grants_; }
  int expiries_of_holders() const noexcept { return expiries_of_holders_; }
  const std::vector<attempt_pointer>& attempts() const noexcept { return attempts_; }
  // That the children of each parent are exactly those still in line.
  void expect_no_orphans();
  const std::vector<std::string>& complaints() const noexcept { return complaints_; }
  bool quiet = false;  // keeps complaints to itself

 private:
  void complain(const attempt& a, const std::string& what);

  world& world_;
  std::vector<attempt_pointer> attempts_;
  std::map<std::string, std::int64_t> highest_;
  std::vector<std::string> complaints_;
  int grants_ = 0;
  int expiries_of_holders_ = 0;
};

// A world with one lock in it.
class contest {
  // Goes last, behind the world, in which everything comes to its end.
  struct all_attempts {
    std::vector<attempt_pointer> list;
    ~all_attempts() {
      for (const auto& a : list) a->let_go();
    }
  } finally_;

 public:
  explicit contest(const world_options& options = {}, bool tickets = true);
  ~contest() { finally_.list = referee_->release_all(); }

  simulated::world world;
  recipes::lock_request request;

  attempt_pointer begin(std::size_t client) { return begin(client, request); }
  attempt_pointer begin(std::size_t client, const recipes::lock_request& t);
  bool run_until(const std::function<bool()>& done) { return world.run_until(done); }
  bool granted(const attempt_pointer& a) {
    return world.run_until([&] { return a->was_granted(); });
  }
  bool gone(const attempt_pointer& a) {
    return world.run_until([&] { return a->done(); });
  }
  // Until nothing happens any more but what keeps sessions alive.
  void quieten() { world.advance(std::chrono::seconds{3}); }
  std::vector<std::string> children() { return world.by_hand().children(request.parents[0]); }
  simulated::referee& referee() { return *referee_; }

 private:
  std::shared_ptr<simulated::referee> referee_;
};

}  // namespace conclave::simulated
