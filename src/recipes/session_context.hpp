// A session as the recipes on it see it: requests, the time, the session's life; and the one lock
// under which all of them run.
//
// Recipes are not safe for concurrent use by themselves. Whoever enters them, a user's call, an
// answer, an event, a timer, does so through a session_context::scope, which holds the lock. What
// they have to tell their users they leave with post(); it is called when the lock was given back.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "conclave/boot_clock.hpp"
#include "conclave/session_event.hpp"
#include "recipes/claimed_nodes.hpp"
#include "recipes/error_class.hpp"
#include "requests/requests.hpp"
#include "session/operation.hpp"

namespace conclave::recipes {

using time_point = boot_clock::time_point;
using duration = boot_clock::duration;
using binding = session::operation::binding;

// One that wants to hear of the session.
class session_listener {
 public:
  virtual void session_changed(const session_event& e) = 0;

 protected:
  ~session_listener() = default;
};

// One that holds something for as long as the session certainly lives.
class deadline_listener {
 public:
  // Looks after itself; returns when to be called again at the latest.
  virtual time_point check_deadline(time_point now) = 0;

 protected:
  ~deadline_listener() = default;
};

// How the session stands, from any thread. Holds keep this alone: they may outlive the port.
class session_clock {
 public:
  struct session_view {
    std::int64_t id = 0;  // 0: none
    bool connected = true;
    // Why there will be no other session: the client was closed, or does not begin a new one. No
    // error until then.
    error_code over;
    time_point deadline;  // as client::session_deadline(); it has passed if it is over
  };
  virtual session_view session() const = 0;
  virtual time_point now() const = 0;

 protected:
  ~session_clock() = default;
};

class session_context : public session_clock {
 public:
  explicit session_context(std::shared_ptr<const requests::defaults> d) : defaults_{std::move(d)} {}
  session_context(const session_context&) = delete;
  session_context& operator=(const session_context&) = delete;
  virtual ~session_context() = default;

  class [[nodiscard]] scope {
   public:
    explicit scope(session_context& p) : context_{p}, lock_{p.mutex_} {}
    ~scope() {
      for (const auto& f : end()) f();
    }
    // Gives the lock back and leaves it to the caller to make these calls.
    std::vector<std::function<void()>> end() {
      if (!lock_.owns_lock()) return {};
      auto calls = std::exchange(context_.callbacks_, {});
      lock_.unlock();
      return calls;
    }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;

   private:
    session_context& context_;
    std::unique_lock<std::mutex> lock_;
  };

  // --- from outside, each a scope of its own

  void session_changed(const session_event& e);
  void time_passed(time_point now);

  // --- for recipes, inside a scope

  const requests::defaults& defaults() const noexcept { return *defaults_; }

  // The operation completes later, in any case, through a scope of its own.
  virtual void submit(std::unique_ptr<session::operation> op) = 0;
  // Takes the watcher off a node, and tells the server if nobody else here needs it.
  virtual void forget_watch(const std::string& path, watch_kind kind, const watcher& w) = 0;
  // Requests submitted between these leave in one write.
  virtual void cork() = 0;
  virtual void uncork() = 0;

  virtual std::shared_ptr<const session_clock> clock() const = 0;
  // It failed with its session, and there is another one, or will be.
  bool can_restart_after(const error_code& ec) const {
    return is_session_end(ec) && !session().over;
  }
  // Calls it in a scope of its own, as soon as the present one and what waits before it are over.
  virtual void call_soon(std::function<void()> f) { call_at(now(), std::move(f)); }
  // A number that no other process draws.
  virtual std::uint64_t random() = 0;

  void post(std::function<void()> f) { callbacks_.push_back(std::move(f)); }
  using timer = std::pair<time_point, std::uint64_t>;
  timer call_at(time_point when, std::function<void()> f);
  void cancel(const timer& t) { timers_.erase(t); }

  void add_listener(session_listener& m) { listeners_.insert(&m); }
  void remove_listener(session_listener& m) { listeners_.erase(&m); }

  // Calls it inside a scope when the session is over for good, unless `of` is gone by then.
  void on_session_end(const std::weak_ptr<void>& of, std::function<void(error_code why)> f);

  // Holders are looked after by one timer for all of them, so that a lock that is held for a moment
  // sets none. `when`: the first look.
  void monitor(deadline_listener& h, time_point when);
  void stop_monitoring(deadline_listener& h) { monitored_.erase(&h); }

  // Whether the program locks again right after unlocking, as it last did; see lock_object.cpp.
  bool relocks_at_once = false;

  claimed_nodes claimed;

 protected:
  // Asks for time_passed() at this moment; earlier is fine, as well.
  virtual void wake_at(time_point when) = 0;

 private:
  void check_deadlines();
  void plan_check(time_point when);

  std::mutex mutex_;
  std::shared_ptr<const requests::defaults> defaults_;
  std::vector<std::function<void()>> callbacks_;
  std::set<session_listener*> listeners_;
  struct ending {
    std::weak_ptr<void> of;
    std::function<void(error_code)> f;
  };
  std::vector<ending> endings_;
  std::size_t sweep_endings_at_ = 64;  // those of objects that are gone
  std::map<timer, std::function<void()>> timers_;
  std::uint64_t last_timer_ = 0;
  std::set<deadline_listener*> monitored_;
  time_point next_check_ = time_point::max();
};

}  // namespace conclave::recipes
