// The wait-for graph: who waits for whom, across locks and sessions. Finds deadlocks.
//
//   for (const conclave::deadlock& d : conclave::find_deadlocks(zk, {"/locks"}))
//     std::cout << (d.certain ? "deadlock: " : "possible deadlock: ") << explain(d) << "\n";
//
// A waiter waits for other contenders of the same lock:
// - A waiter of a mutex, or a writer, waits for all contenders ahead.
// - A reader waits for all writers and mutexes ahead.
// - The waiter of a semaphore waits for all waiters ahead, and then for any holders of permits,
//   until fewer permits are in use than there are.
//
// A holder is blocked by a wait if the same task holds the one lock and waits for the other. The
// nodes show this with different reliability:
// - Certain: the waiter's node names the lock that its task holds (wait_info). Nodes of this
//   library do so for blocking calls and for commands that `conclave lock` runs directly. All nodes
//   of a waiting multi_mutex belong to one task, too.
// - Possible: holder and waiter have the same session, and nothing shows whether they are the same
//   task. This is so for other libraries and for asynchronous calls without
//   lock_options::held_while_waiting. A session may have many threads, so such a cycle may resolve
//   itself. A wait with a time limit is only possible, too, because it ends.
//
// A deadlock is certain if all its waits have no time limit and all its links are certain. It then
// lasts until something else intervenes: a process or session ends, a client is closed or cannot
// reconnect in time, a lock is lost or released on request, or somebody deletes a node. One
// assumption remains: a lock that a thread acquired with a blocking call is not released by another
// thread while the first one waits. A process in which this has happened once reports all its locks
// as possible from then on.
//
// No node shows a wait for a named_mutex, nor a wait for another caller of the same lock object. So
// deadlocks with such waits are not found. Elections and queues are not part of the graph, because
// candidates and consumers usually wait beside their other work.
#pragma once

#include <compare>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "conclave/client.hpp"
#include "conclave/inspect.hpp"

namespace conclave {

// A cycle of tasks, each of which waits for a lock that the next one holds. With semaphores, it may
// be several connected cycles.
struct deadlock {
  // One contender of a lock.
  struct place {
    std::string path;  // of the lock
    recipe_info::kind what = recipe_info::kind::lock;
    contender_info contender;
  };
  // A task that waits.
  struct member {
    place waits_for;           // the waiter's node
    std::vector<place> holds;  // what this task holds, and other members wait for; a contender that
                               // does not hold is ahead of another member in a wait queue
    bool certain = false;      // this task certainly holds all of `holds`
    bool has_time_limit = false;  // the wait can end without a grant
  };
  std::vector<member> members;  // each member waits for a lock of the next one, if it is one cycle
  bool certain = false;

  // True if the same nodes are part of both deadlocks.
  bool same_nodes(const deadlock& other) const;
};

// Returns the deadlock in one sentence, without a full stop: "A holds /x and waits for /y; B holds
// /y and waits for /x". A and B are the owners, which can contain any characters.
std::string explain(const deadlock& d);
// Returns the name of a contender for people: its owner, or the name of its node.
std::string contender_name(const contender_info& c);

class wait_graph {
 public:
  // The contenders of this inspection are the nodes of the graph. Its recipes must be sorted by
  // path, as inspect() returns them.
  explicit wait_graph(inspection seen);

  const inspection& seen() const noexcept;

  // Indexes into seen().recipes and recipe_info::contenders.
  struct place {
    std::size_t recipe = 0;
    std::size_t contender = 0;
    auto operator<=>(const place&) const = default;
  };
  const recipe_info& recipe(place p) const { return seen().recipes[p.recipe]; }
  const contender_info& contender(place p) const { return recipe(p).contenders[p.contender]; }

  // The contenders that block this waiter. It waits until all contenders in `all` and
  // `any_of_these` contenders in `any` have left. Empty for a holder.
  struct blockers {
    std::vector<place> all;
    std::vector<place> any;
    std::size_t any_of_these = 0;
  };
  blockers blockers_of(place waiter) const;

  // The waits of the task that holds this lock: until they end, the holder does not release it. For
  // a waiter, other waits of the same multi_mutex. A link is certain if the nodes show that it is
  // the same task.
  struct link {
    place waiter;
    bool certain = false;
  };
  std::vector<link> waits_of(place holder) const;

  // Certain deadlocks come first. A task that only waits for a member of a deadlock is not a member
  // itself.
  //
  // inspect() does not read all nodes at the same time. So one inspection alone proves nothing:
  // confirm() must follow.
  std::vector<deadlock> deadlocks() const;

 private:
  struct state;
  std::shared_ptr<const state> state_;  // never changes, so copies share it
};

// Reads the nodes of the deadlock again. Returns true if they all still exist, and are the same
// nodes (czxid). Then all of them existed at one moment: after the last read of the inspection, and
// before the first of these reads. At that moment the tasks waited for each other. Throws the same
// errors as inspect().
bool confirm(client& c, const deadlock& d);

// Inspects these paths, and returns the deadlocks that confirm() has confirmed. A deadlock with a
// lock that is not at or below these paths is not found.
std::vector<deadlock> find_deadlocks(client& c, const std::vector<std::string>& paths,
                                     const inspect_options& options = {});

}  // namespace conclave
