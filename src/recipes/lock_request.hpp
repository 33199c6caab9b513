// What a contender contends for, and what it reports.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "conclave/error.hpp"
#include "conclave/layout.hpp"
#include "conclave/transaction.hpp"

namespace conclave::recipes {

struct lock_request {
  // When the lock is granted.
  enum class rule {
    first_in_wait_queue,  // no contender ahead blocks this one
    fixed_name,           // the node `name`, which exists once, could be created
    permits,              // the parent has no more children than there are permits
  };
  rule granted_when = rule::first_in_wait_queue;

  // One node is created under each parent. Several: all of them in one transaction, which excludes
  // deadlocks.
  std::vector<std::string> parents;
  std::size_t own_levels = 1;  // the last levels of each parent path that belong to this lock alone
  conclave::layout layout = conclave::layout::curator();
  conclave::layout::role role = layout::role::exclusive;
  std::string name;            // of rule::fixed_name
  std::size_t permits = 0;     // of rule::permits
  std::string semaphore_path;  // of rule::permits: its data records the number of permits

  // How a contender in a wait queue learns that it is the first.
  enum class wait_mode {
    listing,             // lists the wait queue, as other libraries do
    tickets,             // uses the parent record, and lists where that does not tell
    tickets_read_early,  // also reads the record one hand-off early, to spare a round trip
  };
  wait_mode mode = wait_mode::tickets_read_early;

  enum class on_contention { wait, give_up };
  on_contention if_taken = on_contention::wait;
  // With give_up: errc::taken at once while this node exists; empty: not known.
  std::string seen_holder;

  // If the session ends before the grant: contend again in the next one, or fail.
  enum class on_session_end { restart, fail };
  on_session_end if_session_ends = on_session_end::restart;

  // The data of the created nodes.
  enum class data_format {
    with_id,     // the owner and an id (contender_data.hpp)
    owner_only,  // as other libraries write it
  };
  data_format data = data_format::with_id;
  std::string owner;  // identifies the contender to people

  bool watches_own_node = false;  // from the grant on: another node could get its name
  bool reports_position = false;  // calls enqueued(), which may take a listing
  transaction extra_operations;   // done in one transaction with the creation

  bool waits() const noexcept { return if_taken == on_contention::wait; }
};

// How far a contender has come.
enum class step {
  creating,  // its nodes; again in every new session
  created,
  listing,   // the wait queue
  waiting,   // for its predecessor
  watching,  // the predecessor's node is watched
};

// Called inside a session_context::scope: whatever reaches a user goes through
// session_context::post().
class contender_events {
 public:
  virtual void reached(step s) { static_cast<void>(s); }
  virtual void enqueued(std::size_t contenders_ahead) { static_cast<void>(contenders_ahead); }
  virtual void granted() = 0;
  virtual void failed(error_code why) = 0;  // it was not granted
  virtual void suspended() {}
  virtual void restored() {}
  virtual void lost(error_code why) { static_cast<void>(why); }
  virtual void revocation_asked() {}
  virtual void gone() {}  // the last call

 protected:
  ~contender_events() = default;
};

}  // namespace conclave::recipes
