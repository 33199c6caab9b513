// One lock object of a program: its callers take turns here, and contenders stand in the line at
// the server for them. One that wants the lock for itself waits here while another caller of the
// object has it or stands in line for it; readers, and those who want one of several permits, each
// go to the server at once.
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

// What becomes of one caller's attempt, told inside the scope to whoever follows it closely.
struct progress {
  enum class kind {
    begins,
    creating,  // these as contender_events::reached() has them
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
  const std::string& node;  // empty before created
  error_code why;           // of failed and lost
  bool released;            // of gone: it was asked to release
};
using progress_callback = std::function<void(const progress&)>;

class lock_object : public std::enable_shared_from_this<lock_object> {
 public:
  using role = layout::role;

  // The role is each caller's own. With a gate, the contender for the lock itself begins once that
  // for the gate was granted, and then lets the gate go.
  // With a progress_callback it is an election's: whoever has lost it need not release it.
  lock_object(std::shared_ptr<session_context> p, lock_request r, std::optional<lock_request> gate,
              const lock_options& options, progress_callback f = {});

  // Somebody who wants the lock. Told once, outside of the scope: no error means it is held.
  struct caller {
    std::function<void(error_code)> complete;
    lock_object::role role = role::exclusive;
    bool waits = true;                 // false: errc::taken if the lock is not free
    std::uint64_t thread = 0;          // of a call that blocks
    std::shared_ptr<hold_state> hold;  // what it got; meanwhile another may have begun
    std::string mismatch;              // how others use the path, if that is why it failed
  };
  using caller_ptr = std::shared_ptr<caller>;

  void acquire(const caller_ptr& who);
  // It does not want the lock any more, and is told why, unless it was told something already.
  void give_up(const caller_ptr& who, error_code why);

  // Lets one hold of this role go: one of this thread, otherwise one of nobody in particular,
  // otherwise any; of these, one that was lost, if there is such, otherwise the oldest. Nothing if
  // there is none. `confirmed`, if any, is called outside of the scope when the server knows, or
  // the session is over.
  void release(role r, std::uint64_t thread = 0, std::function<void()> confirmed = {});
  // Lets the hold with this token go, if it is held.
  void release_hold(std::int64_t token);

  // A writer that holds it becomes a reader; see contender::downgrade().
  void downgrade(std::function<void(error_code)> told);

  // Releases everything, and tells everybody who waits.
  void close(error_code why);
  // Calls it outside of the scope when nothing is left of what was given up, lost or released, as
  // far as there is a progress_callback.
  void when_all_gone(std::function<void()> confirmed);

  // The latest hold of this role, of this thread if it has one, or the last one that was; none if
  // there was none.
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
  std::string seen_holder_;         // when somebody who would not wait last looked
  std::deque<caller_ptr> waiting_;  // here
  bool listens_for_session_end_ =
      false;  // complete_waiting() is called when the session is over for good
  std::vector<attempt_ptr> attempts_;  // at the server, or holding; in the order they began
  std::map<role, std::shared_ptr<hold_state>> last_holds_;
  attempt_ptr release_with_next_;  // released, for the next one to take along
  std::shared_ptr<const progress_callback> progress_callback_;
  std::vector<std::weak_ptr<attempt>> leaving_;  // not gone yet; where there is a progress_callback
  time_point last_release_{};
};

}  // namespace conclave::recipes
