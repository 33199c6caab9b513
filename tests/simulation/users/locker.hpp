// Lock objects of every kind in a simulated world, their callers, and a judge that checks all
// holds.
//
// A locker uses a lock object as the public lock classes do: it locks, gives up, unlocks and reads
// the hold.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "checkers/exclusion.hpp"
#include "checkers/fenced_resource.hpp"
#include "checkers/grant_order.hpp"
#include "recipes/candidacy.hpp"
#include "recipes/lock_object.hpp"
#include "simulation/world/world.hpp"

namespace conclave::simulated {

using role = layout::role;

// The same requests as those of the public classes.
struct lock_kind {
  recipes::lock_request request;
  std::optional<recipes::lock_request> admission;

  // The resources that the lock protects: its paths or its fixed name.
  std::vector<std::string> resources() const;
  // The parents of its nodes.
  std::vector<std::string> parents() const;
};
lock_kind a_mutex(std::vector<std::string> paths);
lock_kind a_shared_mutex(std::string path);
lock_kind a_semaphore(const std::string& path, std::size_t permits);
lock_kind a_named_mutex(const std::string& path);
lock_kind an_election(const std::string& path);

class locker;
class judge;

// One call of a lock function, and the resulting hold.
struct call {
  const simulated::client* client = nullptr;
  role as = role::exclusive;
  recipes::lock_object::caller_ptr who;
  int completions = 0;  // must not exceed 1
  error_code ec;
  std::shared_ptr<recipes::hold_state> hold;
  bool unlocked = false;
  bool gave_up = false;
  bool node_was_deleted = false;           // by hand
  std::optional<instant> node_deleted_at;  // if the time is certain
  bool downgrading = false;                // the caller no longer writes
  bool local = false;                      // granted by the lock object, without the server
  // Granted without the mutex. `hold` is then a copy for the judge, because asking the lock object
  // for the hold would take the mutex.
  bool without_mutex = false;
  instant started_at{0}, completed_at{0}, lost_at{0};
  std::function<void()> on_completed, on_lost;

  bool granted() const { return completions > 0 && !ec; }
  bool alone() const { return as != role::reader && !downgrading; }
  bool lost() const { return hold && hold->lost().stop_requested(); }
  bool holding() const { return hold && !unlocked && !lost() && !client->killed(); }
  // Like hold::held().
  bool held() const { return hold && hold->remaining() > recipes::duration{0}; }

  std::optional<std::stop_callback<std::function<void()>>> loss_callback;
};
using call_pointer = std::shared_ptr<call>;

class locker : public std::enable_shared_from_this<locker> {
 public:
  locker(simulated::client& c, const lock_kind& kind, std::shared_ptr<judge> j);
  // Creates the lock object. Its callbacks are recorded in journal().
  void make(lock_options o = {});

  call_pointer lock(role as, std::function<void()> on_completed = {}) {
    return begin(as, true, on_completed);
  }
  call_pointer lock() { return lock(kind_.request.role); }
  call_pointer try_lock(role as) { return begin(as, false, {}); }
  call_pointer try_lock() { return try_lock(kind_.request.role); }
  // Acquires a kept lock without the mutex. Returns null if the lock is not kept.
  call_pointer lock_locally(std::function<void()> on_completed = {});
  void give_up(const call_pointer& c);
  void unlock(const call_pointer& c);
  void unlock(role as);
  void downgrade(const call_pointer& c);
  void close();
  std::shared_ptr<recipes::hold_state> hold(role as);

  simulated::client& client() noexcept { return *client_; }
  const lock_kind& kind() const noexcept { return kind_; }
  int confirmed() const noexcept { return confirmed_; }
  // The results of downgrades, in order.
  const std::vector<error_code>& downgrades() const noexcept { return downgrades_; }
  const std::vector<std::string>& journal() const noexcept { return journal_; }
  int count(std::string_view what) const;
  // For elections: the reported events and the current state.
  const std::vector<election_event>& events() const noexcept { return events_; }
  election_state state() const noexcept { return steps_->state(); }
  void when_all_gone(std::function<void()> f);
  const std::vector<call_pointer>& calls() const noexcept { return calls_; }
  const lock_options& options() const noexcept { return options_; }
  // Returns the node of the last hold if the object may keep it, otherwise an empty string.
  std::string kept_node() const;
  // Checks that the object does not keep the lock although another contender waits. Called
  // regularly.
  void check_recall();
  recipes::lock_object& object() noexcept { return *object_; }

  // Returns lock_object::caller::wait for the next call. May be empty.
  std::function<std::string()> describe_wait;

 private:
  call_pointer add_call(role as, std::function<void()> on_completed);
  call_pointer begin(role as, bool waits, std::function<void()> on_completed);
  void completed(const call_pointer& c, error_code ec);
  void granted(const call_pointer& c);
  bool others_contend() const;
  void note(const std::string& what);

  std::shared_ptr<simulated::client> client_;
  lock_kind kind_;
  std::shared_ptr<judge> judge_;
  std::shared_ptr<recipes::lock_object> object_;
  std::vector<call_pointer> calls_;
  std::vector<std::string> journal_;
  std::vector<election_event> events_;
  std::shared_ptr<recipes::candidacy> steps_;
  std::vector<error_code> downgrades_;
  int confirmed_ = 0;
  lock_options options_;
  std::shared_ptr<recipes::hold_state> last_hold_;
  std::optional<instant> others_since_;  // when another contender was first seen beside a kept lock
  std::size_t grants_beside_others_ = 0;
  instant last_unlock_{0};
};
using locker_pointer = std::shared_ptr<locker>;

// Checks all holds of a world: they exclude each other, they are granted in the order of the wait
// queue, and none is granted after its deadline. When the server expires a session, its holder must
// already know that the hold is lost.
class judge {
 public:
  // `heard`: called for each violation.
  explicit judge(world& w, checkers::violation_callback on_violation = {});
  void set_violation_callback(checkers::violation_callback on_violation) {
    on_violation_ = std::move(on_violation);
  }
  void add(const std::shared_ptr<locker>& l) { lockers_.push_back(l); }
  void granted(const locker& l, call& c);
  void ended(const call& c);
  // The grant and the end of a hold of another library.
  void other_granted(const std::string& resource, checkers::exclusion::id id,
                     const std::string& node, std::int64_t token, bool shared);
  void other_ended(checkers::exclusion::id id) { exclusion_.ended(id); }
  // The start and the result of a downgrade.
  void downgrades(call& c);
  void downgraded(call& c, error_code ec);
  // Writes to the protected resource. Returns false if the resource has seen a newer token.
  bool write(const locker& l, const call& c);
  void expired(std::int64_t session);
  // The hold was reported as restored.
  void restored(const call& c);
  void report_violation(const std::string& what);
  instant now() const { return world_.now(); }
  world& where() const noexcept { return world_; }
  const std::vector<std::string>& violations() const noexcept { return violations_; }
  const std::vector<locker_pointer>& lockers() const noexcept { return lockers_; }
  // Breaks the reference cycle between the judge and the lockers.
  void end();
  // Checks that no node, watch or request is left.
  void expect_nothing_left();
  // Notes that this node was deleted by hand. `sure` is false if the server failed meanwhile. The
  // holder must notice soon. Returns true if the node was held.
  bool note_deletion(const std::string& path, const node_stat& node, bool sure);
  std::size_t most_holders(std::string_view resource) const { return exclusion_.most(resource); }
  std::uint64_t stale_writes_refused() const;
  int grants = 0, excused_grants = 0, expiries_of_holders = 0, shared_grants = 0;
  int local_grants = 0, grants_without_mutex = 0;
  // True if nothing has prevented the client from learning what happened at `since`.
  bool must_know(const simulated::client& c, instant since) const;

 private:
  bool still_holds(checkers::exclusion::id which) const;
  bool name_may_be_deleted_by_previous_owner(const call& c);

  world& world_;
  checkers::violation_callback on_violation_;
  std::vector<locker_pointer> lockers_;
  checkers::exclusion exclusion_;
  checkers::grant_order order_;
  std::map<std::string, checkers::fenced_resource> resources_;
  std::unordered_map<checkers::exclusion::id, const call*> holds_;
  struct deletion {
    instant when;
    const simulated::client* owner;  // null if unknown
  };
  std::map<std::int64_t, std::optional<instant>>
      deleted_nodes_;  // by czxid; the time, if it is certain
  std::multimap<std::string, deletion, std::less<>> deleted_names_;
  std::vector<std::string> violations_;
};

// A world, a judge in it, and lockers.
class lock_world {
 public:
  explicit lock_world(const world_options& options, checkers::violation_callback on_violation = {});
  ~lock_world() { judge->end(); }

  simulated::world world;
  std::shared_ptr<simulated::judge> judge;

  locker_pointer add(std::size_t client, const lock_kind& kind, lock_options o = {});
  bool run_until(const std::function<bool()>& done) { return world.run_until(done); }
  bool completed(const call_pointer& c) {
    return run_until([&] { return c->completions > 0; });
  }
  bool granted(const call_pointer& c) { return completed(c) && !c->ec; }
  bool lost(const call_pointer& c) {
    return run_until([&] { return c->lost(); });
  }
  void finish_pending_work() { world.advance(std::chrono::seconds{3}); }
  // Checks that everything was released.
  void check_end() {
    finish_pending_work();
    judge->expect_nothing_left();
  }
  std::vector<std::string> children(const std::string& path) {
    return world.by_hand().children(path);
  }
};

}  // namespace conclave::simulated
