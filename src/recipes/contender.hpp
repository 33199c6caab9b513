// One attempt to hold a lock, from the creation of its nodes to their removal.
//
// A contender belongs to one session: it creates its nodes in that session and binds every later
// request to it. If the session ends, a holder loses the lock, and a waiter starts again in the
// next session or fails (lock_request::if_session_ends).
//
//   resolving
//      ^ │ unknown outcome
//      │ v
//   creating ──> waiting ──> holding ──> releasing ──> gone
//      ^            │                        ^
//      └────────────┘ the session ended      │
//      └────────────┴─ failed, released ─────┘
//
// The parts: owned_nodes creates, resolves, verifies and removes the nodes. wait/ determines when
// the lock is granted. hold_monitor checks the deadline and the connection and reports revocations.
// recall_watch reports other contenders to a holder that wants to keep the lock.
//
// All members must be called inside a session_context::scope.
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
#include "recipes/recall_watch.hpp"
#include "recipes/wait/strategy.hpp"

namespace conclave::recipes {

class contender final : public session_listener, public std::enable_shared_from_this<contender> {
 public:
  using claimed_item = owned_nodes::claimed_item;

  // `wait` describes what the caller's task holds while it waits, as format_wait() returns it. With
  // data_format::with_id, it is part of the nodes' data. May be empty.
  contender(std::shared_ptr<session_context> context, std::shared_ptr<const lock_request> request,
            std::shared_ptr<contender_events> events, std::string wait = {});
  contender(std::shared_ptr<session_context> context, lock_request request,
            std::shared_ptr<contender_events> events)
      : contender{std::move(context), std::make_shared<const lock_request>(std::move(request)),
                  std::move(events)} {}
  ~contender();

  // `previous` is a contender on which release_with_next() was called. One transaction releases
  // `previous` and creates the node of this contender.
  void start(std::shared_ptr<contender> previous = {});

  // Leaves the wait queue or releases the lock. Continues until the server has confirmed the
  // removal of the nodes or the session has ended. Cannot fail or be cancelled. A second call has
  // no effect.
  void release();
  // Like release(), but for a contender that claims a queue item. If item.on_release says so, the
  // same transaction removes the item. The transaction checks the item's version. If the item has a
  // different version, the contender verifies its own node before it removes the node.
  void release_claim(claimed_item item);
  // Like release(), but sends nothing yet. The next contender for the same lock in the same session
  // can send the release in the transaction that creates its own node. This saves a transaction.
  // release_now() sends the release without waiting for the next contender.
  void release_with_next();
  void release_now();
  bool can_release_with_next() const noexcept;
  // After this call only gone() is reported.
  void mute() noexcept { context_.mute(); }

  // The result of the release. Valid once the contender is gone.
  // - No error: the server has confirmed the release. If an item had to be removed, it no longer
  //   exists.
  // - errc::lock_lost: the node was deleted before the release.
  // - errc::session_expired: the session ended before the server confirmed the release.
  // - Any other error: the reason why the item could not be removed.
  error_code release_result() const noexcept;

  // --- valid once granted

  std::int64_t fencing_token() const noexcept { return nodes_.fencing_token(); }
  std::int64_t session_id() const noexcept { return context_.session_id; }
  std::string path(std::size_t i = 0) const { return nodes_[i].path(); }
  std::size_t node_count() const noexcept { return nodes_.size(); }
  // The id in the data of the nodes. Empty with data_format::owner_only.
  const std::string& id() const noexcept { return id_; }
  void report_revocations() { monitor_.report_revocations(); }
  // Returns true if the lock is held, as far as is known now, the hold is not suspended, and no
  // downgrade is in progress.
  bool certainly_holds() const;
  // Returns true if the lock was free when the contender arrived.
  bool granted_at_once() const;
  // Starts to check whether other contenders exist, and reports them; see recall_watch.
  void watch_for_others() { recall_.start(); }
  recall_watch::state others() const noexcept { return recall_.current(); }
  // Turns a writer into a reader. No other writer is granted the lock in between. `completed` is
  // called inside a session_context::scope. If it receives an error, either nothing has changed or
  // the hold is lost.
  void downgrade(std::function<void(error_code)> completed);

  // --- valid once failed

  // The path of the holder's node, after errc::lock_busy.
  const std::string& holder_path() const noexcept { return found_.holder; }
  // After errc::layout_mismatch or errc::permits_mismatch: a text that says how other contenders
  // use the path.
  const std::string& mismatch() const noexcept { return found_.mismatch; }

  void session_changed(const session_event& e) override;

 private:
  enum class phase {
    creating,   // creates the nodes
    resolving,  // resolves an unknown outcome of the creation
    waiting,    // waits for the grant
    holding,
    releasing,  // removes the nodes
    gone,
  };

  task<> run();
  task<error_code> acquire();
  task<error_code> check_seen_holder();
  task<error_code> create_nodes();
  task<error_code> create_after_previous();
  task<error_code> resolve(const owned_nodes::creation& c);
  task<error_code> wait_for_name(std::size_t index);
  task<error_code> wait_for_grant();
  task<error_code> check_nodes();
  task<error_code> confirm_in_time();
  task<> hold();
  task<error_code> become_reader();
  task<> remove_nodes();

  std::function<void(error_code)> disconnect_callback();
  void lose(error_code why);
  void finish_downgrades(error_code ec);
  void end();

  contender_context context_;
  owned_nodes nodes_;
  std::string id_;
  std::string wait_;  // empty once granted: only waiters list what they hold
  wait_strategy::findings found_;
  std::vector<std::unique_ptr<wait_strategy>> waits_;  // one for each node
  hold_monitor monitor_;
  recall_watch recall_;
  session_clock::session_view session_at_grant_;  // as confirm_in_time() found it

  phase phase_ = phase::creating;
  bool was_granted_ = false;
  bool was_lost_ = false;
  // The state of this contender's release, if the next contender may send it (release_with_next()).
  enum class release_by_next { no, offered, sent, confirmed, outcome_unknown };
  release_by_next release_by_next_ = release_by_next::no;
  std::shared_ptr<contender> previous_;  // the contender that this one releases
  std::unique_ptr<claimed_item> item_;   // most contenders claim no item
  owned_nodes::removal_result removal_;
  std::vector<std::function<void(error_code)>> downgrades_;  // called when the downgrade is done

  task<> run_;  // declared last: destroyed before the members it uses
};

}  // namespace conclave::recipes
