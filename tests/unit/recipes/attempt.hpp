// Contenders in a simulated world, the events that they report, and a checker for all of them.
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

class hold_checker;

// One contender and its user. Records the events.
class attempt final : public recipes::contender_events,
                      public std::enable_shared_from_this<attempt> {
 public:
  attempt(simulated::client& owner, recipes::lock_request r, std::shared_ptr<hold_checker> c);

  void start();
  void leave();
  void report_revocations();

  simulated::client& client() noexcept { return *client_; }
  const recipes::lock_request& request() const noexcept { return request_; }
  // The reported events in order: "granted", "lost deadline_passed", ...
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

  // Called when the event is reported.
  std::function<void()> when_granted, on_lost, when_gone;
  // Ends the reference cycles with the contender and the checker.
  void drop_references();

 private:
  void report(std::string what, std::function<void(attempt&)> act);

  void enqueued(std::size_t position) override;
  void granted() override;
  void failed(error_code why) override;
  void suspended() override;
  void restored() override;
  void lost(error_code why) override;
  void revocation_asked() override;
  void gone() override;

  std::shared_ptr<simulated::client> client_;
  recipes::lock_request request_;
  std::shared_ptr<hold_checker> checker_;
  std::shared_ptr<recipes::contender> contender_;
  std::vector<std::string> journal_;
  bool granted_ = false;
  bool holding_ = false;
  bool left_ = false;
  bool gone_ = false;
  error_code failure_;
  std::int64_t token_ = 0;
  std::vector<std::string> paths_;  // of a hold
  friend class hold_checker;
};
using attempt_pointer = std::shared_ptr<attempt>;

// Fails the test if
// - two contenders hold one lock at the same time,
// - a fencing token does not increase,
// - a lock is granted after the deadline of the session, or
// - the server expires a session before its holder was notified.
class hold_checker {
 public:
  explicit hold_checker(world& w);
  void add(const attempt_pointer& a) { attempts_.push_back(a); }
  void granted(attempt& a);
  void expired(std::int64_t session);
  std::vector<attempt_pointer> release_all() { return std::exchange(attempts_, {}); }
  instant now() const { return world_.now(); }
  int grants() const noexcept { return grants_; }
  int expiries_of_holders() const noexcept { return expiries_of_holders_; }
  const std::vector<attempt_pointer>& attempts() const noexcept { return attempts_; }
  // Checks that the children of each parent are exactly the nodes of the current contenders.
  void expect_no_orphans();
  const std::vector<std::string>& violations() const noexcept { return violations_; }
  bool record_only = false;  // violations do not fail the test

 private:
  void report_violation(const attempt& a, const std::string& what);

  world& world_;
  std::vector<attempt_pointer> attempts_;
  std::map<std::string, std::int64_t> highest_;
  std::vector<std::string> violations_;
  int grants_ = 0;
  int expiries_of_holders_ = 0;
};

// A world with one lock in it.
class contender_world {
  // Declared first, so it is destroyed after the world.
  struct all_attempts {
    std::vector<attempt_pointer> list;
    ~all_attempts() {
      for (const auto& a : list) a->drop_references();
    }
  } finally_;

 public:
  explicit contender_world(const world_options& options = {}, bool tickets = true);
  ~contender_world() { finally_.list = checker_->release_all(); }

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
  // Runs until only pings are left.
  void finish_pending_work() { world.advance(std::chrono::seconds{3}); }
  std::vector<std::string> children() { return world.by_hand().children(request.parents[0]); }
  simulated::hold_checker& checker() { return *checker_; }

 private:
  std::shared_ptr<simulated::hold_checker> checker_;
};

}  // namespace conclave::simulated
