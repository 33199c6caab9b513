// One lock object of a program, and its callers. At most one caller of the object holds an
// exclusive lock or waits for it on the server. The other callers that want an exclusive lock wait
// locally, without a contender. Callers that want a shared lock or a permit never wait locally:
// each of them has a contender on the server.
//
// With lock_options::keep_for, the object may keep the lock after its caller has unlocked it: the
// contender continues to hold the lock. The next caller is then granted the lock locally, by this
// class or, without the mutex, by local_lock. local_grants.cpp contains this part.
//
// All members must be called inside a session_context::scope.
#pragma once

#include <array>
#include <compare>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/metric_counters.hpp"
#include "conclave/lock_options.hpp"
#include "recipes/acquisition_trace.hpp"
#include "recipes/callback_queue.hpp"
#include "recipes/contender.hpp"
#include "recipes/hold_state.hpp"
#include "recipes/local_lock.hpp"

namespace conclave::recipes {

// A step of one caller's attempt. Reported inside a session_context::scope.
struct progress {
  enum class kind {
    begins,
    // The next five steps correspond to contender_events::reached().
    creating,
    created,
    listing,
    waiting,
    watching,
    granted,
    failed,
    lost,
    releasing,
    gone,
  };
  kind what;
  const std::string& node;  // empty before `created`
  error_code why;           // for failed and lost
  bool released;            // for gone: the attempt was released
};
using progress_callback = std::function<void(const progress&)>;

class lock_object : public std::enable_shared_from_this<lock_object> {
  class attempt;
  using attempt_ptr = std::shared_ptr<attempt>;

 public:
  using role = layout::role;

  // Each caller has its own role, which replaces the role in `request`. The admission lock is a
  // lock that each attempt acquires before the lock itself; semaphores have one. The contender for
  // the lock starts when the admission lock is granted. The admission lock is released when the
  // lock is granted. Elections use a progress_callback. If it is set, the object drops a lost lock
  // by itself, and the caller need not release the lock.
  lock_object(std::shared_ptr<session_context> context, lock_request request,
              std::optional<lock_request> admission, const lock_options& options,
              progress_callback f = {});

  // A call that wants the lock. `complete` is called once, outside of the session_context::scope.
  // If it receives no error, the lock is held.
  struct caller {
    std::function<void(error_code)> complete;
    lock_object::role role = role::exclusive;
    bool waits = true;                 // if false, fails with lock_busy unless the lock is free
    bool has_deadline = false;         // errc::lock_busy means that the deadline has passed
    std::uint64_t thread = 0;          // the thread of a blocking call, otherwise 0
    std::shared_ptr<hold_state> hold;  // the hold of this call
    std::string wait;                  // see the constructor of contender
    std::string mismatch;              // explains a conflict with another use of the path
    std::weak_ptr<attempt> at_server;  // not set while the call waits locally
    std::shared_ptr<acquisition_trace> trace;  // null if the call is not traced
    time_point called{};                       // set only if calls are counted
  };
  using caller_ptr = std::shared_ptr<caller>;

  void acquire(const caller_ptr& who);
  // Completes a call that must not begin.
  void refuse(const caller_ptr& who, error_code why);
  // Completes the call with `why`, unless the call has already completed.
  void give_up(const caller_ptr& who, error_code why);

  // Releases one hold of this role, if there is one. Holds of this thread come first, then holds of
  // asynchronous calls, then all other holds. Within each group, lost holds come first, and older
  // holds come before newer ones. `confirmed` may be empty. It is called outside of the
  // session_context::scope when the server has confirmed the release or the session has ended.
  void release(role r, std::uint64_t thread = 0, std::function<void()> confirmed = {});
  // Releases this hold, unless it has already ended.
  void release_hold(const hold_state& which);

  // Turns the writer that holds the lock into a reader; see contender::downgrade(). If the hold
  // belongs to no thread, it belongs to this one afterwards.
  void downgrade(std::function<void(error_code)> completed, std::uint64_t thread = 0);

  // Releases all holds and completes all waiting calls with `why`.
  void close(error_code why);
  // Waits until every contender that failed, lost the lock or was released is gone. Then calls
  // `confirmed` outside of the session_context::scope. Without a progress_callback, the function
  // does not wait for these contenders.
  void when_all_gone(std::function<void()> confirmed);

  // Returns the latest hold of this role and this thread, or of any thread if this thread has none.
  // If there is none now, returns the hold that was granted last, or null if there never was one.
  std::shared_ptr<hold_state> hold(role r, std::uint64_t thread = 0);
  bool held_by_thread(role r, std::uint64_t thread) const;
  lock_kind kind() const noexcept { return kind_; }

  // --- called outside of a session_context::scope, by any thread

  // Calls the callbacks of the options. Null if none of them is set.
  const std::shared_ptr<callback_queue>& callbacks() const noexcept { return callbacks_; }

  // Acquires a kept lock, without a request. On failure, the caller must call acquire().
  enum class local_result { acquired, in_use, not_kept };
  local_result try_acquire_locally() noexcept;
  // The caller gives up after try_acquire_locally() has returned local_result::in_use.
  void note_local_contention() noexcept;
  // Like try_acquire_locally(), but waits while other threads hold the kept lock. Returns false if
  // the lock is not kept.
  bool acquire_locally() noexcept;
  // Releases a lock that one of the two functions above has acquired. Returns false if the caller
  // must call release().
  bool release_locally() noexcept { return local_.release(clock_->coarse_time()); }

 private:
  // The key of an attempt in attempts_. Its order lets lower_bound() find the first hold of a
  // thread.
  struct attempt_key {
    lock_object::role role = role::exclusive;
    std::uint64_t thread = 0;
    enum class stage { lost, held, waiting } at = stage::lost;
    std::uint64_t number = 0;  // in the order in which the attempts began
    auto operator<=>(const attempt_key&) const = default;
  };

  void note_called(caller& who);
  bool busy_for(role r) const;
  void begin(const caller_ptr& who);
  void ended(const attempt_ptr& a, error_code why);
  void add(const attempt_ptr& a);
  void remove(const attempt_ptr& a);
  // Must be called after the stage or the role of the attempt has changed.
  void reorder(const attempt_ptr& a);
  bool has_attempt(role r) const;
  std::shared_ptr<hold_state>& last_hold(role r) {
    return last_holds_[static_cast<std::size_t>(r)];
  }
  // Returns a lost hold of this role and thread if there is one, otherwise the oldest hold, or
  // null.
  attempt_ptr first_hold(role r, std::uint64_t thread) const;
  attempt_ptr latest_hold(role r, std::uint64_t thread) const;
  attempt_ptr hold_to_release(role r, std::uint64_t thread) const;
  void release_attempt(const attempt_ptr& a, std::function<void()> confirmed);
  void note_released(const attempt_ptr& a);
  void start_next();
  void wait_locally(const caller_ptr& who);

  // Local grants; see local_grants.cpp.
  bool keeps_locks() const noexcept;
  bool acquire_kept(const caller_ptr& who);
  bool grant_next_locally(const attempt_ptr& a);
  bool keep(const attempt_ptr& a);
  void grant_locally(const attempt_ptr& a, const caller_ptr& who);
  void adopt_local_hold();
  void refuse_callers_that_do_not_wait();
  void open_if_alone();
  enum class and_then { start_next, end };
  void release_kept(and_then next);
  void kept_suspended();
  void check_kept_at(time_point when);
  void check_kept_time();
  void others_checked(const attempt_ptr& a);
  bool confirm_local_grant() noexcept;
  void complete_waiting(error_code why);
  void complete(const caller_ptr& who, error_code ec);
  // Calls this callback of the options, if it is set, after the scope and in the order of events.
  void notify_user(std::function<void(const conclave::hold&)> lock_options::*callback,
                   std::shared_ptr<hold_state> h);
  // Like notify_user(), for a function that calls one of the callbacks of the options.
  void call_user(std::function<void()> f);

  // Returns null if nothing is counted.
  lock_counters* counters() const noexcept {
    auto* const all = context_->counters();
    return all == nullptr ? nullptr : &all->of(kind_);
  }

  std::shared_ptr<session_context> context_;
  const lock_kind kind_;
  // The request of the last attempt. Attempts with the same request share it.
  std::shared_ptr<const lock_request> request_;
  std::shared_ptr<const lock_request> admission_;  // null if there is no admission lock
  // Do not read `layout`, `owner` and `tickets` here, because they have default values. request_
  // has the actual ones.
  std::shared_ptr<const lock_options> options_;
  std::shared_ptr<callback_queue> callbacks_;
  std::string seen_holder_;        // the holder that the last caller with errc::lock_busy found
  std::list<caller_ptr> waiting_;  // callers that wait locally
  // True if complete_waiting() is registered with session_context::on_session_end().
  bool listens_for_session_end_ = false;
  std::map<attempt_key, attempt_ptr> attempts_;   // waiting at the server or holding
  std::map<std::int64_t, attempt_ptr> by_token_;  // the attempts that hold, by fencing token
  std::uint64_t last_number_ = 0;
  std::array<std::shared_ptr<hold_state>, 3> last_holds_;  // by role
  attempt_ptr release_with_next_;  // the attempt whose release waits for the next attempt
  std::shared_ptr<const progress_callback> progress_callback_;
  std::vector<std::weak_ptr<attempt>> leaving_;  // not gone yet; used only with a progress_callback
  time_point last_release_{};

  std::shared_ptr<const session_clock> clock_;
  local_lock local_;                                   // open only while kept_ is set
  std::unique_ptr<local_grant_counter> local_grants_;  // null if nothing is counted
  // The attempt whose lock the object keeps. No caller holds the lock, unless a thread has acquired
  // it through local_.
  attempt_ptr kept_;
  std::shared_ptr<hold_state> adopted_;  // the last hold that adopt_local_hold() created
  time_point kept_since_{};
  std::optional<session_context::timer> kept_timer_;
};

}  // namespace conclave::recipes
