// The request of a contender, and the events that the contender reports.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "conclave/error.hpp"
#include "conclave/layout.hpp"
#include "conclave/transaction.hpp"

namespace conclave::recipes {

struct lock_request {
  // The condition under which the lock is granted.
  enum class rule {
    first_in_wait_queue,  // no contender ahead blocks this one
    fixed_name,           // the contender has created the node `name`
    permits,              // the parent has no more children than there are permits
  };
  rule granted_when = rule::first_in_wait_queue;

  // The contender creates one node under each parent. Several nodes are created in one transaction,
  // which prevents deadlocks.
  std::vector<std::string> parents;
  std::size_t own_levels = 1;  // how many levels at the end of each parent path only this lock uses
  conclave::layout layout = conclave::layout::curator();
  conclave::layout::role role = layout::role::exclusive;
  std::string name;            // for rule::fixed_name
  std::size_t permits = 0;     // for rule::permits
  std::string semaphore_path;  // for rule::permits: the node that records the number of permits

  // How a waiter learns that it is the first in the wait queue.
  enum class wait_mode {
    listing,             // lists the wait queue, as other libraries do
    listing_once,        // lists once, and reads the parent record when its blocker leaves
    tickets,             // reads the parent record, and lists if it is not conclusive
    tickets_read_early,  // also reads the parent record one hand-off early; saves a round trip
  };
  wait_mode mode = wait_mode::tickets_read_early;

  enum class on_contention { wait, give_up };
  on_contention if_contended = on_contention::wait;
  // The path of the holder's node that an earlier attempt found. With give_up, the attempt fails
  // with errc::lock_busy if this node still exists. Empty if no holder is known.
  std::string seen_holder;

  // If the session ends before the grant, the contender starts again in the next session or fails.
  enum class on_session_end { restart, fail };
  on_session_end if_session_ends = on_session_end::restart;

  // The format of the data of the created nodes.
  enum class data_format {
    with_id,     // the owner and an id (contender_data.hpp)
    owner_only,  // as other libraries write it
  };
  data_format data = data_format::with_id;
  std::string owner;  // identifies the contender to people

  // If true, the holder watches its node from the grant on, because a node of another client could
  // get the same name. If false, the holder watches its node only if the hold lasts long
  // (hold_monitor.cpp).
  bool watches_own_node = false;
  bool reports_position = false;  // reports enqueued(), which may need a listing
  transaction extra_operations;   // part of the transaction that creates the nodes

  bool waits() const noexcept { return if_contended == on_contention::wait; }
};

// The steps that a contender goes through before it is granted the lock.
enum class step {
  creating,  // it creates its nodes; repeated in every new session
  created,
  listing,   // it lists the wait queue
  waiting,   // it waits for the deletion of another node
  watching,  // the watch on that node is set
};

// The functions are called inside a session_context::scope. An implementation calls user code only
// through session_context::post().
class contender_events {
 public:
  virtual void reached(step s) { static_cast<void>(s); }
  virtual void enqueued(std::size_t contenders_ahead) { static_cast<void>(contenders_ahead); }
  virtual void granted() = 0;
  virtual void failed(error_code why) = 0;  // the lock was not granted
  virtual void suspended() {}
  virtual void restored() {}
  virtual void lost(error_code why) { static_cast<void>(why); }
  virtual void revocation_asked() {}
  // Reported only after contender::watch_for_others(). alone(): no other contender exists.
  // recalled(): another contender may exist.
  virtual void alone() {}
  virtual void recalled() {}
  virtual void gone() {}  // the contender has ended; no call follows

 protected:
  ~contender_events() = default;
};

}  // namespace conclave::recipes
