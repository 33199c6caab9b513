// One caller's attempt to acquire a lock. It owns the contender for the lock and, if the lock has
// an admission lock, the contender for the admission lock. It passes their events to the lock
// object and to the user. It may outlive the lock object: it lives until the contenders have
// removed their nodes.
//
// Only lock_object uses it. All members must be called inside a session_context::scope.
#pragma once

#include "recipes/lock_object.hpp"

namespace conclave::recipes {

class lock_object::attempt final : public contender_events,
                                   public std::enable_shared_from_this<attempt> {
 public:
  attempt(lock_object& owner, caller_ptr who);

  caller_ptr waiting_caller;  // null after the call has completed
  lock_object::role role;
  std::uint64_t thread;
  std::shared_ptr<hold_state> hold;
  attempt_key key;  // in the lock object

  bool was_granted() const { return hold->began(); }
  bool is_lost() const { return static_cast<bool>(hold->why_lost()); }
  bool is_gone() const { return stage_ == stage::gone; }
  bool is_kept() const { return stage_ == stage::kept; }

  // Starts the contender for the admission lock or, if there is no admission lock, the contender
  // for the lock. The constructor cannot do this, because the contender shares ownership of the
  // attempt.
  void start(const attempt_ptr& before = {});

  void release(std::function<void()> confirmed);
  // Like release(), but the next attempt may send the release together with the creation of its own
  // node. Returns false if that is not possible.
  bool release_with_next(std::function<void()>& confirmed);
  void release_now();
  // Adds this callback. Callbacks added earlier are kept.
  void when_gone(std::function<void()> f);
  void downgrade(std::function<void(error_code)> completed);

  // --- local grants

  // Returns true if the lock is certainly held, so that another local caller can be granted it.
  bool can_grant_locally() const;
  recall_watch::state others() const;
  // Ends the current caller's hold. The contender still holds the lock.
  void end_local_hold();
  // Begins a new hold of the same contender.
  void begin_local_hold(std::shared_ptr<acquisition_trace> t);
  // Like begin_local_hold(), but for a hold that began earlier, without the mutex.
  void begin_untimed_hold();
  std::size_t local_handoffs = 0;  // local grants while other contenders may wait

 private:
  struct admission_events;

  enum class stage {
    contending,  // waits for the admission lock or the lock, or holds the lock
    kept,        // holds the lock for the lock object; no caller holds it
    restarting,  // starts again at the admission lock when its contender is gone
    releasing,   // removes its nodes; the user receives no more events
    gone,        // no nodes are left
  };

  void reached(step s) override;
  void enqueued(std::size_t contenders_ahead) override;
  void granted() override;
  void failed(error_code why) override;
  void suspended() override;
  void restored() override;
  void lost(error_code why) override;
  void revocation_asked() override;
  void alone() override;
  void recalled() override;
  void gone() override;

  std::string text_of_wait() const;
  void start_contender(std::shared_ptr<contender> before = {});
  void begin_hold();
  void note_hold_begun();
  // Must be called if the hold was released or lost.
  void note_hold_ended(error_code why_lost);
  // If a local caller holds the lock, makes its hold the hold of this attempt, so that events reach
  // that caller.
  void adopt_local_hold();
  void admission_lost();
  void release_admission();
  void begin_release();
  void report(progress::kind what, error_code why = {}, bool released = false);
  void notify_user(std::function<void(const conclave::hold&)> lock_options::*callback);

  std::shared_ptr<session_context> context_;
  std::weak_ptr<lock_object> owner_;
  std::shared_ptr<const lock_options> options_;
  std::shared_ptr<const lock_request> request_;
  std::shared_ptr<const lock_request> admission_request_;  // null if there is no admission lock
  std::shared_ptr<admission_events> admission_;            // null also if no longer needed
  std::shared_ptr<contender> contender_;
  std::function<void()> when_gone_;
  stage stage_ = stage::contending;
  bool position_reported_ = false;
  bool was_revoked_ = false;  // another program has asked for the release
  std::shared_ptr<const progress_callback> progress_callback_;
  std::string node_;                          // used for the progress_callback only
  lock_counters* counters_;                   // null if nothing is counted
  std::optional<time_point> hold_begun_;      // of a hold that is timed
  std::shared_ptr<acquisition_trace> trace_;  // of the current hold; may be null
};

}  // namespace conclave::recipes
