// Lock objects of every kind in a simulated world, their callers, and a judge who sees all holds.
//
// What the public locks do with a lock object is done here: calls that are told once, give up,
// unlock and look at their hold.
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

// As src/client makes them.
struct lock_kind {
  recipes::lock_request request;
  std::optional<recipes::lock_request> gate;

  // What must not be held by too many: the paths, or the name.
  std::vector<std::string> resources() const;
  // Where its nodes are.
  std::vector<std::string> parents() const;
};
lock_kind a_mutex(std::vector<std::string> paths);
lock_kind a_shared_mutex(std::string path);
lock_kind a_semaphore(const std::string& path, std::size_t permits);
lock_kind a_named_mutex(const std::string& path);
lock_kind an_election(std::string path);

class locker;
class judge;

// One call of a lock function, and the hold that it leads to.
struct call {
  const simulated::client* client = nullptr;
  role as = role::exclusive;
  recipes::lock_object::caller_ptr who;
  int told = 0;
  error_code ec;
  std::shared_ptr<recipes::hold_state> hold;
  bool unlocked = false;
  bool gave_up = false;
  bool robbed = false;               // its node was deleted by hand
  std::optional<instant> robbed_at;  // if that is sure
  bool downgrading = false;          // from when it was asked for: the user does not write any more
  instant told_at{0}, lost_at{0};
  std::function<void()> when_told, when_lost;

  bool granted() const { return told > 0 && !ec; }
  bool alone() const { return as != role::reader && !downgrading; }
  bool lost() const { return hold && hold->lost().stop_requested(); }
  bool holding() const { return hold && !unlocked && !lost() && !client->killed(); }
  // As hold::held() says.
  bool held() const { return hold && hold->remaining() > recipes::duration{0}; }

  std::optional<std::stop_callback<std::function<void()>>> on_loss;
};
using call_pointer = std::shared_ptr<call>;

class locker : public std::enable_shared_from_this<locker> {
 public:
  locker(simulated::client& c, const lock_kind& kind, std::shared_ptr<judge> j);
  // Its options may be set before. Callbacks are written down in the journal.
  void make(lock_options o = {});

  call_pointer lock(role as, std::function<void()> when_told = {}) {
    return begin(as, true, when_told);
  }
  call_pointer lock() { return lock(kind_.request.role); }
  call_pointer try_lock(role as) { return begin(as, false, {}); }
  call_pointer try_lock() { return try_lock(kind_.request.role); }
  void give_up(const call_pointer& c);
  // Counts how often the server's word on it came.
  void unlock(const call_pointer& c);
  void unlock(role as);
  void downgrade(const call_pointer& c);
  void close();
  std::shared_ptr<recipes::hold_state> hold(role as);

  simulated::client& client() noexcept { return *client_; }
  const lock_kind& kind() const noexcept { return kind_; }
  int confirmed() const noexcept { return confirmed_; }
  // Of downgrades, in order.
  const std::vector<error_code>& downgrades() const noexcept { return downgrades_; }
  const std::vector<std::string>& journal() const noexcept { return journal_; }
  int count(std::string_view what) const;
  // Of an election: the steps that were told, and how it stands.
  const std::vector<election_event>& events() const noexcept { return events_; }
  election_state state() const noexcept { return steps_->state(); }
  void when_all_gone(std::function<void()> f);
  const std::vector<call_pointer>& calls() const noexcept { return calls_; }
  recipes::lock_object& object() noexcept { return *object_; }

 private:
  call_pointer begin(role as, bool patient, std::function<void()> when_told);
  void told(const call_pointer& c, error_code ec);
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
};
using locker_pointer = std::shared_ptr<locker>;

// Judges all holds of a world by the checkers: no more than may, in the order of the line, nobody
// whose time is up; and when the server ends a session, its holder was told before.
class judge {
 public:
  // `heard`: who wants to hear a complaint at once.
  explicit judge(world& w, checkers::listener heard = {});
  void hear(checkers::listener heard) { heard_ = std::move(heard); }
  void add(const std::shared_ptr<locker>& l) { lockers_.push_back(l); }
  void granted(const locker& l, call& c);
  void ended(const call& c);
  // Somebody of another library holds it, who is known by an id; and it has ended.
  void other_granted(const std::string& resource, checkers::exclusion::id id,
                     const std::string& node, std::int64_t token, bool shared);
  void other_ended(checkers::exclusion::id id) { exclusion_.ended(id); }
  // A downgrade was asked for, and how it ended.
  void downgrades(call& c);
  void downgraded(call& c, error_code ec);
  // Writes to what the lock is for. False: a newer token was there before.
  bool write(const locker& l, const call& c);
  void expired(std::int64_t session);
  // It was told that it holds on after a cut.
  void restored(const call& c);
  void complain(const std::string& what);
  instant now() const { return world_.now(); }
  world& where() const noexcept { return world_; }
  const std::vector<std::string>& complaints() const noexcept { return complaints_; }
  const std::vector<locker_pointer>& lockers() const noexcept { return lockers_; }
  // Lets go of everybody, who keep it as well.
  void end();
  // That all is as if nobody had ever been there.
  void expect_nothing_left();
  // That node was deleted by hand, or perhaps, if the server failed meanwhile. Its holder may be
  // the last to know, but not for long. True if it was held.
  bool note_robbery(const std::string& path, const node_stat& node, bool sure);
  std::size_t most_holders(std::string_view resource) const { return exclusion_.most(resource); }
  std::uint64_t stale_writes_refused() const;
  int grants = 0, excused_grants = 0, expiries_of_holders = 0, shared_grants = 0;

 private:
  bool still_holds(checkers::exclusion::id which) const;
  bool may_be_taken_for_another(const call& c) const;
  bool must_know(const call& c, instant since) const;

  world& world_;
  checkers::listener heard_;
  std::vector<locker_pointer> lockers_;
  checkers::exclusion exclusion_;
  checkers::grant_order order_;
  std::map<std::string, checkers::fenced_resource> resources_;
  std::unordered_map<checkers::exclusion::id, const call*> holds_;
  struct robbery {
    instant when;
    const simulated::client* owner;  // if there is one
  };
  std::map<std::int64_t, std::optional<instant>> robbed_;  // by czxid; when, if that is sure
  std::multimap<std::string, robbery, std::less<>> robbed_names_;
  std::vector<std::string> complaints_;
};

// A world, a judge in it, and lockers.
class lock_world {
 public:
  explicit lock_world(const world_options& options, checkers::listener heard = {});
  ~lock_world() { judge->end(); }

  simulated::world world;
  std::shared_ptr<simulated::judge> judge;

  locker_pointer add(std::size_t client, const lock_kind& kind, lock_options o = {});
  bool run_until(const std::function<bool()>& done) { return world.run_until(done); }
  bool told(const call_pointer& c) {
    return run_until([&] { return c->told > 0; });
  }
  bool granted(const call_pointer& c) { return told(c) && !c->ec; }
  bool lost(const call_pointer& c) {
    return run_until([&] { return c->lost(); });
  }
  void quieten() { world.advance(std::chrono::seconds{3}); }
  // Everything was given back.
  void check_end() {
    quieten();
    judge->expect_nothing_left();
  }
  std::vector<std::string> children(const std::string& path) {
    return world.by_hand().children(path);
  }
};

}  // namespace conclave::simulated
