// One attempt to hold a lock, from its place in the line to the last trace of it.
//
// The ticket lock of docs/locks.md: a contender's node is its place in the line, the node's number
// its ticket, and the parent's data says which ticket was served last. Who cannot tell from that
// whether its turn has come reads the whole line, as the classic recipe does for everything.
//
// A contender belongs to one session. Its node is created in it, every later request is bound to
// it, and with the session the contender is done. One that only waited begins again in the next.
//
// All members are called inside a port::entry.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conclave/layout.hpp"
#include "conclave/transaction.hpp"
#include "recipes/asking.hpp"
#include "recipes/port.hpp"
#include "recipes/task.hpp"

namespace conclave::recipes {

// When a contender has what it wants.
enum class rule {
  first_in_line,  // nobody that it must wait for is before it
  unique_name,    // its node, of a name that there is only once, could be created
  permits,        // no more children than there are permits
};

// Before a request that the server or a full backlog refused is made again.
inline constexpr std::chrono::milliseconds breath{10};

// What to contend for, and how.
struct terms {
  recipes::rule rule = rule::first_in_line;
  std::vector<std::string> parents;  // several: all of them or none, without a chance to deadlock
  std::size_t own_levels = 1;  // of each parent, the last nodes that belong to this lock alone
  std::string name;            // of rule::unique_name
  std::size_t permits = 0;     // of rule::permits
  std::string semaphore;       // of rule::permits: the path that says how many there are
  bool renew = true;  // begin again in the next session if this one ends before it was granted
  conclave::layout layout = conclave::layout::curator();
  conclave::layout::role role = layout::role::exclusive;
  std::string owner;        // who we are, for people
  bool bare = false;        // our node's data is the owner alone, as other libraries write it
  bool tickets = true;      // off: the classic recipe alone
  bool hurried = true;      // is told one place earlier too, to take over the faster; by tickets
  bool patient = true;      // off: gives up at once with errc::taken
  std::string seen_holder;  // of the impatient: while this node is there, nothing else is tried
  bool wary = false;        // its node is watched from the grant on: another can have its name
  bool counted = false;     // tell how many are before us, which may take a list
  transaction along;        // done in one transaction with the creation, if there is anything in it
};

// How far a contender has come, for those who show it.
enum class step {
  enrols,    // makes its nodes; again in every new session
  enrolled,  // they are there
  looks,     // at the line
  waits,     // somebody is before it
  watches,   // and will not go unseen
};

// What a contender tells. Called inside its entry, so whatever reaches a user goes through
// port::deliver().
class contender_events {
 public:
  virtual void reached(step s) { static_cast<void>(s); }
  virtual void enqueued(std::size_t before_us) { static_cast<void>(before_us); }
  virtual void granted() = 0;
  virtual void failed(error_code why) = 0;  // without having held it
  virtual void suspended() {}
  virtual void restored() {}
  virtual void lost(error_code why) { static_cast<void>(why); }
  virtual void revocation_asked() {}
  virtual void gone() {}  // the last that is told

 protected:
  ~contender_events() = default;
};

class contender final : public member,
                        public holder,
                        public std::enable_shared_from_this<contender> {
 public:
  contender(std::shared_ptr<port> p, terms t, std::shared_ptr<contender_events> events);
  ~contender();

  // Takes along the release of the one before us, if it has left that to the next.
  void start(std::shared_ptr<contender> before = {});

  // Out of the line, or off the lock: goes on by itself until the server has confirmed it or the
  // session is over. Cannot fail and cannot be cancelled; a second call does nothing.
  void leave();
  // As leave(), for one whose node is a mark on another one, of a name that somebody else's mark
  // can have: only if that other node still has this version, or we know otherwise that the mark is
  // ours. With `removed` in one transaction with the removal of that node.
  struct marked {
    std::string path;  // empty: none
    std::int32_t version = 0;
    std::int64_t czxid = 0;  // a node of this name with another one is not it
    bool removed = false;
  };
  void leave_mark(marked on);
  // Once it is gone: no error if the server has confirmed that it left, and that what it marked was
  // removed, if that was asked for, or was gone already. errc::lock_lost: our node had gone before;
  // errc::session_expired: the session ended before we knew. Any other: why what was marked could
  // not be removed.
  error_code left() const noexcept;
  // As leave(), but a contender for the same lock in the same session may take our release along
  // with its creation: one transaction, one write to the server's disk. Until then, or until
  // leave_now(), nothing is sent.
  void leave_to_next();
  void leave_now();
  bool can_leave_to_next() const noexcept;
  // From now on only gone() is told.
  void be_quiet() noexcept { quiet_ = true; }

  // --- once granted

  std::int64_t token() const noexcept { return token_; }
  std::int64_t session() const noexcept { return session_; }
  std::string path(std::size_t i = 0) const { return seats_[i].path(); }
  std::size_t seats() const noexcept { return seats_.size(); }
  // Also tells of revocations, which others write into our node.
  void heed_revocation();
  // A writer becomes a reader without letting anybody in between. `told` is called inside an entry:
  // no error means it is done, any other that nothing has changed or the hold is gone.
  void downgrade(std::function<void(error_code)> told);

  // --- if it gave up with errc::taken: the path of the one that has the lock

  const std::string& seen_holder() const noexcept { return seen_holder_; }

  // --- if it failed since others use the path in another way: how, for people

  const std::string& mismatch() const noexcept { return mismatch_; }

  void session_changed(const session_event& e) override;
  time_point look(time_point now) override;

 private:
  // A place in one line.
  struct seat {
    std::string parent;
    std::string name;  // empty: none yet
    bool claimed = false;
    std::int32_t ticket = 0;
    std::int64_t parent_czxid = 0;
    bool record_writable = false;
    std::optional<std::int32_t> served;  // the last ticket known to be served
    bool alone = false;                  // the parent had no other child after we came

    watcher own_watch;  // on our own node
    bool own_gone = false;
    bool own_changed = false;

    watcher other_watch;           // on the one that we wait for
    std::string other;             // its name
    std::int64_t other_czxid = 0;  // and its age, where names come back; 0: any
    bool other_gone = false;
    bool other_stirred = false;  // something else happened to it: the watch is used up
    bool waited = false;

    watcher ahead_watch;  // on the one before that, so as to be ready; see get_ready()
    std::string ahead;    // its name
    bool ahead_gone = false;

    // The parent may be the root.
    std::string child(std::string_view of) const {
      return (parent == "/" ? "" : parent) + '/' + std::string{of};
    }
    std::string path() const { return child(name); }
    std::string other_path() const { return child(other); }
    std::string ahead_path() const { return child(ahead); }
  };

  task<> run();
  task<error_code> contend();
  task<error_code> be_in_time();
  task<error_code> why_out_of_line();

  void reached(step s) {
    if (!quiet_) events_->reached(s);
  }

  // enqueue.cpp
  task<error_code> enqueue();
  task<error_code> enqueue_behind();
  task<error_code> settle(std::string id);
  struct trace {
    std::string path;
    std::int64_t czxid;
    bool ours;  // it has our id, or is bare and has our data; otherwise it has no id
  };
  task<error_code> look_for(seat& s, const std::string& id, place where, std::vector<trace>& into);
  task<error_code> recognise(const std::vector<std::vector<trace>>& under, place where);
  task<error_code> make_parents();
  task<error_code> wait_for_the_name(seat& s);
  void take_seat(seat& s, std::string_view path);
  void note_record(seat& s, const get_result& parent);

  // waiting.cpp
  struct rival {
    std::string name;
    layout::role role;
    std::int32_t number;
    std::int64_t czxid = 0;  // asked for only near the end of the numbers
  };
  struct line {
    error_code ec;
    std::vector<rival> before_us;  // in their order
    std::optional<std::size_t> in_our_way;
  };
  task<error_code> wait_for_turn(seat& s);
  task<error_code> wait_until_gone(seat& s);
  task<> get_ready(seat& s);
  task<error_code> wait_for_permit(seat& s);
  task<error_code> agree_on_permits(seat& s, std::vector<std::string>& leases);
  task<error_code> expect_no_permits(seat& s);
  task<error_code> read_served(seat& s);
  task<line> read_line(seat& s);
  task<error_code> find_ages(seat& s, std::vector<rival>& all);
  bool takes_part(const layout::contender& c) const;
  static bool may_become_reader(layout::role r, std::string_view name);
  bool may_use_tickets() const noexcept;
  bool uses_tickets(const seat& s) const noexcept;

  // holding.cpp
  void become_holder();
  void watch_over();
  bool overslept() const;
  task<> hold();
  task<> check_own_nodes();
  task<error_code> watch_own(seat& s);
  void lose(error_code why);

  // downgrade.cpp
  task<error_code> become_reader();
  void tell_downgraded(error_code ec);

  // leaving.cpp
  task<> withdraw();
  task<> find_out(place& where);
  void withdraw_claims();
  std::optional<std::int32_t> ticket_to_record(const seat& s) const;

  error_code why_interrupted() const noexcept;
  error_code why_session_may_have_ended() const;
  watcher watching(const seat& s, void (*note)(seat&, const watch_event&));
  watcher own_watcher(const seat& s);
  watcher other_watcher(const seat& s);
  watcher children_watcher(const seat& s);
  watcher ahead_watcher(const seat& s);
  bool put_out_of_line() const noexcept;
  void stop_watching(seat& s);

  template <class Result>
  asking<Result> ask(requests::request<Result> r, place where,
                     std::optional<session::on_cut> rule = {}) {
    return recipes::ask(port_, shared_from_this(), std::move(r), where, rule);
  }
  place here() const noexcept { return {session_, 0}; }

  // To wait for whatever comes next: an event, the session's end, leave().
  struct news {
    contender& c;
    explicit news(contender& who) : c{who} {}
    bool await_ready() const noexcept { return c.poked_; }
    void await_suspend(std::coroutine_handle<> h) const noexcept { c.sleeper_ = h; }
    void await_resume() const noexcept { c.poked_ = false; }
  };
  void poke();
  void end();
  task<> pause(duration d);

  std::shared_ptr<port> port_;
  terms terms_;
  std::shared_ptr<contender_events> events_;
  task<> run_;

  std::vector<seat> seats_;
  std::int64_t session_ = 0;
  std::int64_t token_ = 0;  // of fencing: the czxid of our nodes when we came into the line
  std::int64_t czxid_ = 0;  // of our nodes: by it we know them
  // The connection on which they were last seen. On a later one they may be gone, with their
  // parents, and others have their names: they are not removed there before they are looked at.
  place known_in_;
  std::string seen_holder_;
  std::string mismatch_;
  bool joined_ = true;
  bool in_line_ = false;  // our nodes are there, as far as we know
  bool holding_ = false;
  bool was_holder_ = false;
  bool suspended_ = false;
  bool leaving_ = false;
  // How our release leaves: by ourselves, or with one that comes behind us.
  enum class parting { alone, offered, taken_along, confirmed, unclear };
  parting parting_ = parting::alone;
  std::shared_ptr<contender> before_;  // whose release we take along
  marked marked_;
  error_code not_removed_;  // why, if the server refused that for good
  bool left_ = false;
  bool session_over_ = false;
  errc session_end_ = errc::session_expired;  // why
  bool quiet_ = false;
  bool check_own_ = false;
  bool heed_revocation_ = false;
  bool parents_may_go_ = false;
  std::vector<std::function<void(error_code)>> downgrades_;  // asked for, and whom to tell
  time_point since_{};

  bool poked_ = false;
  std::coroutine_handle<> sleeper_;
};

}  // namespace conclave::recipes
