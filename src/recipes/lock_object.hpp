// One lock object of a program, and its callers. Each caller that does not wait locally has a
// contender on the server. A caller that wants an exclusive lock waits locally while another such
// caller of the same object holds the lock or waits for it. Callers that want a shared lock or a
// permit contend at the server at once.
//
// All members are called inside a session_context::scope.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conclave/lock_options.hpp"
#include "recipes/contender.hpp"
#include "recipes/hold_state.hpp"

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
 public:
  using role = layout::role;

  // Each caller has its own role, which replaces the role in `r`. With a gate, the contender for
  // the lock starts when the gate is granted. The gate is released when the lock is granted.
  // Elections use a progress_callback. If it is set, the object drops a lost lock by itself, and
  // the caller need not release the lock.
  lock_object(std::shared_ptr<session_context> p, lock_request r, std::optional<lock_request> gate,
              const lock_options& options, progress_callback f = {});

  // A call that wants the lock. `complete` is called once, outside of the session_context::scope.
  // If it gets no error, the lock is held.
  struct caller {
    std::function<void(error_code)> complete;
    lock_object::role role = role::exclusive;
    bool waits = true;                 // if false, fails with lock_busy unless the lock is free
    std::uint64_t thread = 0;          // the thread of a blocking call, otherwise 0
    std::shared_ptr<hold_state> hold;  // the hold of this call
    std::string mismatch;              // explains a conflict with another use of the path
  };
  using caller_ptr = std::shared_ptr<caller>;

  void acquire(const caller_ptr& who);
  // Completes the call with `why`, unless the call has already completed.
  void give_up(const caller_ptr& who, error_code why);

  // Releases one hold of this role, if there is one. Holds of this thread come first, then holds of
  // asynchronous calls, then all other holds. Within each group, a lost hold comes first, then the
  // oldest hold. `confirmed` may be empty. It is called outside of the session_context::scope when
  // the server has confirmed the release or the session has ended.
  void release(role r, std::uint64_t thread = 0, std::function<void()> confirmed = {});
  // Releases the hold with this fencing token, if there is one.
  void release_hold(std::int64_t token);

  // Turns the writer that holds the lock into a reader; see contender::downgrade().
  void downgrade(std::function<void(error_code)> completed);

  // Releases all holds and completes all waiting calls with `why`.
  void close(error_code why);
  // Calls `confirmed` outside of the session_context::scope when all contenders that failed, lost
  // the lock or were released are gone. Without a progress_callback, the function does not wait for
  // these contenders.
  void when_all_gone(std::function<void()> confirmed);

  // Returns the latest hold of this role, preferably a hold of this thread. If there is none now,
  // returns the hold that was granted last, or null if there never was one.
  std::shared_ptr<hold_state> hold(role r, std::uint64_t thread = 0) const;
  bool held_by_thread(role r, std::uint64_t thread) const;

 private:
  class attempt;
  using attempt_ptr = std::shared_ptr<attempt>;

  bool busy_for(role r) const;
  void begin(const caller_ptr& who);
  void ended(const attempt_ptr& a, error_code why);
  attempt_ptr hold_to_release(role r, std::uint64_t thread) const;
  void release_attempt(const attempt_ptr& a, std::function<void()> confirmed);
  void note_released(const attempt_ptr& a);
  void start_next();
  void wait_locally(const caller_ptr& who);
  void complete_waiting(error_code why);
  void complete(const caller_ptr& who, error_code ec);

  std::shared_ptr<session_context> context_;
  lock_request request_;
  std::optional<lock_request> gate_;
  std::shared_ptr<const lock_options> options_;
  std::string seen_holder_;         // the holder that the last caller with errc::lock_busy found
  std::deque<caller_ptr> waiting_;  // callers that wait locally
  // True if complete_waiting() will be called when no other session can follow.
  bool listens_for_session_end_ = false;
  std::vector<attempt_ptr> attempts_;  // waiting at the server or holding; oldest first
  std::map<role, std::shared_ptr<hold_state>> last_holds_;
  attempt_ptr release_with_next_;  // the attempt whose release waits for the next attempt
  std::shared_ptr<const progress_callback> progress_callback_;
  std::vector<std::weak_ptr<attempt>> leaving_;  // not gone yet; kept only with a progress_callback
  time_point last_release_{};
};

}  // namespace conclave::recipes
