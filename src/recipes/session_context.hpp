// The session as the recipes see it: requests, time, session events, and one mutex for all recipes
// of the session.
//
// Recipes are not safe for concurrent use. Every call into a recipe (a user's call, a reply, an
// event, a timer) happens inside a session_context::scope, which locks the mutex. A recipe calls
// user code through post(), which runs it after the mutex is unlocked.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "conclave/boot_clock.hpp"
#include "conclave/metrics.hpp"
#include "conclave/session_event.hpp"
#include "recipes/error_class.hpp"
#include "recipes/owned_node_registry.hpp"
#include "recipes/shared_listing.hpp"
#include "requests/requests.hpp"
#include "session/operation.hpp"

namespace conclave {
class tracer;
}

namespace conclave::recipes {

using time_point = boot_clock::time_point;
using duration = boot_clock::duration;
using binding = session::operation::binding;

// Receives the events of the session.
class session_listener {
 public:
  virtual void session_changed(const session_event& e) = 0;

 protected:
  ~session_listener() = default;

 private:
  friend class session_context;
  std::uint64_t listener_number_ = 0;
};

// Monitors the deadline of a hold. A hold is valid only while the session is certainly alive.
class deadline_listener {
 public:
  // Called at the time that the listener has requested, and when the session's deadline has passed.
  virtual void check_deadline(time_point now) = 0;

 protected:
  ~deadline_listener() = default;

 private:
  friend class session_context;
  std::uint64_t monitor_number_ = 0;  // 0 if not monitored
  time_point first_check_;
};

// The state of the session, readable by any thread. A hold refers only to this object, because the
// hold may outlive the session_context.
class session_clock {
 public:
  struct session_view {
    std::int64_t id = 0;  // 0 if there is no session
    bool connected = true;
    // Why no other session will follow: the client was closed, its credentials were refused, or its
    // session expired and client_options::renew_expired is false. Not set while another session may
    // follow.
    error_code end_reason;
    time_point deadline;  // see client::session_deadline(); has passed if `end_reason` is set
  };
  virtual session_view session() const = 0;
  virtual time_point now() const = 0;
  // Returns a time that is not later than session().deadline, and takes no mutex. Once the session
  // has ended, this time has passed. No later session changes it to a later time before the recipes
  // have been notified of that end.
  virtual time_point early_deadline() const { return session().deadline; }
  // The time since an arbitrary start, to measure durations. It costs much less than now(), but it
  // lags by some milliseconds and does not advance while the machine is suspended.
  virtual std::chrono::nanoseconds coarse_time() const { return now().time_since_epoch(); }

 protected:
  ~session_clock() = default;
};

class session_context : public session_clock {
 public:
  explicit session_context(std::shared_ptr<const requests::defaults> d) : defaults_{std::move(d)} {}
  // Must be called before the first recipe is created. See client_options.
  void observe(std::shared_ptr<metrics> m, std::shared_ptr<conclave::tracer> t) {
    metrics_ = std::move(m);
    tracer_ = std::move(t);
  }
  session_context(const session_context&) = delete;
  session_context& operator=(const session_context&) = delete;
  virtual ~session_context() = default;

  class [[nodiscard]] scope {
   public:
    explicit scope(session_context& p) : context_{p}, lock_{p.mutex_} {}
    ~scope() {
      for (const auto& f : end()) f();
    }
    // Unlocks the mutex and returns the posted functions. The caller must call them.
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

  // --- called outside of a scope; each function opens its own scope

  void session_changed(const session_event& e);
  void time_passed(time_point now);

  // Returns null if nothing is counted.
  metric_counters* counters() const noexcept { return metrics_ ? &metrics_->counters() : nullptr; }
  // Null if nothing is traced.
  const std::shared_ptr<conclave::tracer>& tracer() const noexcept { return tracer_; }

  // --- for recipes, called inside a scope

  const requests::defaults& defaults() const noexcept { return *defaults_; }

  // Sends the operation. It always completes later, inside its own scope.
  virtual void submit(std::unique_ptr<session::operation> op) = 0;
  // Removes the watcher from a node. If no other watcher of this client needs the watch, also
  // removes it on the server.
  virtual void forget_watch(const std::string& path, watch_kind kind, const watcher& w) = 0;
  // Requests that are submitted between these two calls are sent in one write.
  virtual void cork() = 0;
  virtual void uncork() = 0;

  virtual std::shared_ptr<const session_clock> clock() const = 0;
  // Returns true if a request failed with this error because its session ended, and another session
  // exists or will follow.
  bool can_restart_after(const error_code& ec) const {
    return is_session_end(ec) && !session().end_reason;
  }
  // Queues `f` and returns. `f` runs in a later scope, after the current scope has ended and after
  // all calls that were queued earlier.
  virtual void call_soon(std::function<void()> f) { call_at(now(), std::move(f)); }
  // Returns a random number. Every client has its own generator with a random seed.
  virtual std::uint64_t random() = 0;
  // Returns a random id of 128 bits, as 32 hexadecimal digits. Ids never repeat, in any process.
  std::string new_id();

  void post(std::function<void()> f) { callbacks_.push_back(std::move(f)); }
  using timer = std::pair<time_point, std::uint64_t>;
  timer call_at(time_point when, std::function<void()> f);
  void cancel(const timer& t) { timers_.erase(t); }

  void add_listener(session_listener& m) {
    m.listener_number_ = ++last_number_;
    listeners_.emplace(m.listener_number_, &m);
  }
  void remove_listener(session_listener& m) { listeners_.erase(m.listener_number_); }

  // Calls `f` inside a scope when the session ends and no other session will follow. Does not call
  // it if `of` was destroyed before.
  void on_session_end(const std::weak_ptr<void>& of, std::function<void(error_code why)> f);

  // Calls h.check_deadline() at the time `first_check`, and again when the session's deadline has
  // passed. Stops at stop_monitoring(). `deadline` is the current deadline of the session. All
  // holds share the next check, so a hold sets a timer only if no earlier check is planned. Each
  // check visits only the holds whose time has come.
  void monitor(deadline_listener& h, time_point first_check, time_point deadline);
  void stop_monitoring(deadline_listener& h);
  // Must be called if the session's deadline became earlier. An earlier call does no harm.
  void check_at(time_point when);

  // Call for each large request that was lost with a connection, in the order in which the requests
  // were sent. Returns true for the first of them, because only this one can be larger than the
  // server accepts.
  bool suspects(std::uint64_t connection) noexcept {
    return std::exchange(suspected_on_, connection) != connection;
  }

  // False if a server has refused to list the session's ephemeral nodes. Servers before ZooKeeper
  // 3.6 do not know this request.
  bool server_lists_ephemerals = true;

  // True if the program acquired a lock again right after its last release; see lock_object.cpp.
  bool relocks_at_once = false;

  owned_node_registry registered_nodes;
  shared_listings listings;

 protected:
  // Requests a call to time_passed() at this time. An earlier call does no harm.
  virtual void wake_at(time_point when) = 0;

 private:
  void check_deadlines();

  std::mutex mutex_;
  std::shared_ptr<const requests::defaults> defaults_;
  std::shared_ptr<metrics> metrics_;
  std::shared_ptr<conclave::tracer> tracer_;
  std::vector<std::function<void()>> callbacks_;
  // Listeners and monitored holds in the order in which they were added. So a simulated history
  // does not depend on addresses.
  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, session_listener*> listeners_;
  std::map<std::uint64_t, deadline_listener*> monitored_;
  std::set<std::pair<time_point, std::uint64_t>> first_checks_;
  struct ending {
    std::weak_ptr<void> of;
    std::function<void(error_code)> f;
  };
  std::vector<ending> endings_;
  std::size_t sweep_endings_at_ = 64;  // at this size, endings of destroyed objects are erased
  std::map<timer, std::function<void()>> timers_;
  std::uint64_t last_timer_ = 0;
  std::uint64_t suspected_on_ = 0;  // a connection; see suspects()
  time_point next_check_ = time_point::max();
};

// While this object lives, requests are collected. Its destructor sends them in one write.
class [[nodiscard]] single_write {
 public:
  explicit single_write(session_context& p) : context_{p} { context_.cork(); }
  ~single_write() { context_.uncork(); }
  single_write(const single_write&) = delete;
  single_write& operator=(const single_write&) = delete;

 private:
  session_context& context_;
};

}  // namespace conclave::recipes
