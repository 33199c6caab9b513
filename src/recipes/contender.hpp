// One attempt to hold a lock, from the creation of its nodes until they are removed.
//
// A contender belongs to one session: its nodes are created in it, every later request is bound to
// it, and the contender ends with it. A contender that only waited starts again in the next
// session.
//
//   creating ──> waiting ──> holding ──> releasing ──> gone
//      ^            │                        ^
//      └────────────┘ the session ended      │
//      └────────────┴─ failed, released ─────┘
//
// The parts: owned_nodes (create, resolve, verify, remove), wait/ (when the lock is granted),
// hold_monitor (deadline, connection, revocation).
//
// All members are called inside a session_context::scope.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "recipes/contender_context.hpp"
#include "recipes/hold_monitor.hpp"
#include "recipes/lock_request.hpp"
#include "recipes/owned_nodes.hpp"
#include "recipes/wait/strategy.hpp"

namespace conclave::recipes {

class contender final : public session_listener, public std::enable_shared_from_this<contender> {
 public:
  using claimed_item = owned_nodes::claimed_item;

  contender(std::shared_ptr<session_context> p, lock_request r,
            std::shared_ptr<contender_events> events);
  ~contender();

  // With `previous`, which was released by release_with_next(): its release is part of the
  // transaction that creates the node of this one.
  void start(std::shared_ptr<contender> previous = {});

  // Leaves the wait queue, or releases the lock. Continues until the server has confirmed it or the
  // session has ended. Cannot fail and cannot be cancelled; a second call has no effect.
  void release();
  // For a contender that claims a queue's item: only if the item still has this version, or we know
  // otherwise that the claim is ours.
  void release_claim(claimed_item item);
  // As release(), but a contender for the same lock in the same session may do it with its own
  // creation, which saves the server a transaction. Until then, or until release_now(), nothing is
  // sent.
  void release_with_next();
  void release_now();
  bool can_release_with_next() const noexcept;
  // From now on only gone() is reported.
  void mute() noexcept { context_.mute(); }

  // Once it is gone: no error if the server has confirmed the release, and that the item was
  // removed, if that was asked for, or did not exist any more. errc::lock_lost: our node was
  // deleted before; errc::session_expired: the session ended before we knew. Any other error: why
  // the item could not be removed.
  error_code release_result() const noexcept;

  // --- once granted

  std::int64_t fencing_token() const noexcept { return nodes_.fencing_token(); }
  std::int64_t session_id() const noexcept { return context_.session_id; }
  std::string path(std::size_t i = 0) const { return nodes_[i].path(); }
  std::size_t node_count() const noexcept { return nodes_.size(); }
  void report_revocations() { monitor_.report_revocations(); }
  // A writer becomes a reader, and no other writer is granted the lock in between. `completed` is
  // called inside a scope. With an error, nothing has changed or the hold is lost.
  void downgrade(std::function<void(error_code)> completed);

  // --- if it failed

  // With errc::taken: the path of the node that has the lock.
  const std::string& holder_path() const noexcept { return found_.holder; }
  // How others use the path, if it failed for that, for people.
  const std::string& mismatch() const noexcept { return found_.mismatch; }

  void session_changed(const session_event& e) override;

 private:
  enum class phase {
    creating,  // its nodes, and resolving whether they were created
    waiting,   // for the grant
    holding,
    releasing,  // removing its nodes
    gone,
  };

  task<> run();
  task<error_code> acquire();
  task<error_code> look_for_holder();
  task<error_code> create_nodes();
  task<error_code> create_after_previous();
  task<error_code> wait_for_name(std::size_t index);
  task<error_code> wait_for_grant();
  task<error_code> check_other_nodes();
  task<error_code> confirm_in_time();
  task<> hold();
  task<error_code> become_reader();
  task<> remove_nodes();

  std::function<void(error_code)> on_disconnected();
  void lose(error_code why);
  void finish_downgrades(error_code ec);
  void end();

  contender_context context_;
  owned_nodes nodes_;
  wait_strategy::findings found_;
  std::vector<std::unique_ptr<wait_strategy>> waits_;  // one for each node
  hold_monitor monitor_;

  phase phase_ = phase::creating;
  bool was_granted_ = false;
  bool was_lost_ = false;
  // Whether the next contender releases this one.
  enum class release_by_next { no, offered, sent, confirmed, outcome_unknown };
  release_by_next release_by_next_ = release_by_next::no;
  std::shared_ptr<contender> previous_;  // which this one releases
  claimed_item item_;
  owned_nodes::removal_result removal_;
  std::vector<std::function<void(error_code)>> downgrades_;  // requested; called when done

  task<> run_;  // destroyed first: it uses the others
};

}  // namespace conclave::recipes
