// Leader election among processes and machines, compatible with ZooKeeper's LeaderElectionSupport.
//
//   conclave::election e{zk, "/services/mailer/leader"};
//   e.run_as_leader([](std::stop_token lost) { while (!lost.stop_requested()) send_next_mail(); });
//
// or step by step:
//
//   e.campaign();                                   // returns when this candidate leads
//   storage.write(data, e.hold().fencing_token());  // a hold like that of a lock: hold.hpp
//   e.resign();
//
// Candidates form a wait queue in order of arrival, and the first one leads. When the leader
// resigns or its session ends, the next candidate becomes the leader. When another candidate
// leaves, only its successor wakes up, and the leader stays the same. A waiting candidate keeps its
// position when the connection is lost. If its session expires, it queues again at the end.
//
// An election object is one candidate. Several threads may campaign with the same object, and they
// lead in turn. Use several objects for several candidates.
//
// A session holds the leadership, and sessions can expire. hold() reports the loss, as for a lock.
// The same object can campaign again after a loss. See exclusive_lock.hpp for the errors.
//
// Equivalents in ZooKeeper's recipe: start() is async_campaign() or campaign(), stop() is resign(),
// getLeaderHostName() is leader()->owner, and addListener() is election_options::on_event.
//
// Equivalents in Curator: LeaderLatch.start, await, hasLeadership and close are async_campaign(),
// campaign(), held() and resign(). LeaderSelector.takeLeadership is the function that
// run_as_leader() calls, and autoRequeue is requeue::yes.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "conclave/client.hpp"
#include "conclave/contenders.hpp"
#include "conclave/detail/locking.hpp"
#include "conclave/election_event.hpp"
#include "conclave/hold.hpp"
#include "conclave/layout.hpp"

namespace conclave {

// Callbacks run on the I/O thread or on a thread that calls into this library. The library holds
// none of its internal mutexes while a callback runs. Callbacks must not block and must not throw.
struct election_options {
  election_options() = default;

  // How the candidates' nodes are named. All candidates must use the same layout. Use
  // layout::leader_latch() for Curator's LeaderLatch, layout::curator() for its LeaderSelector and
  // layout::kazoo() for kazoo's Election.
  conclave::layout layout = conclave::layout::election();

  // Identifies this candidate in leader() and in other libraries. If empty, the host name is used.
  std::string id;

  // Called for every step of the candidacy, one at a time and in order. See election_event.hpp.
  std::function<void(const election_event&)> on_event;

  // on_suspended runs when the connection is lost while this candidate leads. on_restored runs when
  // the client has reconnected and verified the leader's node. See hold.hpp.
  std::function<void(const hold&)> on_suspended;
  std::function<void(const hold&)> on_restored;
  // on_lost runs when the leadership is lost. `why` is the reason. See hold::lost() and
  // hold::why_lost().
  std::function<void(const hold&, error_code why)> on_lost;
};

enum class requeue : bool { no, yes };

class election {
 public:
  // Sends nothing. Throws errc::invalid_path. Throws errc::invalid_argument if the layout has no
  // exclusive locks. Also throws it if the id is "__REVOKE__" or contains "\nid ", because both
  // have a special meaning in the data of lock nodes.
  election(client& c, std::string path, election_options options = {});
  // Resigns. Calls that wait for the leadership complete with operation_aborted. Before the
  // destructor returns, all callbacks of earlier events have run, and on_event has reported
  // stop_start of a candidacy (but often not stop_complete). The destructor runs some of them
  // itself, so its caller must not own a mutex that a callback locks. After it has returned, no
  // callback is running, and none is called again. If a callback itself calls the destructor, the
  // rest of the callbacks run inside it, and its current call continues afterwards.
  ~election();
  election(const election&) = delete;
  election& operator=(const election&) = delete;

  // --- for a candidate

  // Returns when this candidate leads. If it already leads, waits until the leadership is lost or
  // resigned and then campaigns again.
  void campaign();
  // Returns false if a stop was requested or the deadline passed before this candidate led. The
  // candidacy then ends.
  [[nodiscard]] bool campaign(std::stop_token stop);
  template <class Rep, class Period>
  [[nodiscard]] bool campaign_for(const std::chrono::duration<Rep, Period>& d) {
    return campaign_before(detail::deadline_after(d));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool campaign_until(const std::chrono::time_point<Clock, Duration>& t) {
    return campaign_before(detail::deadline_at(t));
  }
  // Completes with void(error_code). Cancelling ends the candidacy.
  template <class Token>
  auto async_campaign(Token&& token) {
    return detail::initiate<void>(state_, &detail::start_lock, std::forward<Token>(token), role);
  }
  // Completes with void(error_code, bool).
  template <class Rep, class Period, class Token>
  auto async_campaign_for(const std::chrono::duration<Rep, Period>& d, Token&& token) {
    return detail::initiate<bool>(state_, &detail::start_try_lock, std::forward<Token>(token), role,
                                  detail::deadline_after(d));
  }

  // Gives up the leadership or the candidacy. Waiting campaign calls complete with
  // operation_aborted. Returns at once. The library sends the release and retries until the server
  // confirms it or the session ends. No effect if this object is not a candidate.
  void resign() noexcept;
  // Completes with void(error_code) when the server confirms the resignation or the session ends.
  template <class Token>
  auto async_resign(Token&& token) {
    return detail::initiate<void>(state_, &detail::start_resign, std::forward<Token>(token));
  }

  // Campaigns, calls f(std::stop_token) on this thread, and resigns when f returns or throws. A
  // stop is requested on that token when the leadership is lost, when resign() is called, or when a
  // stop is requested on `stop`. f should then return as soon as possible.
  //
  // With requeue::yes, the function repeats these steps until a stop is requested on `stop` or an
  // exception is thrown. It repeats them even if the leadership was lost or resigned.
  //
  // Returns true if this candidate still led when f returned for the last time. Returns false if
  // the leadership was lost or resigned, or if a stop was requested on `stop` before this candidate
  // was elected.
  //
  // Throws the exceptions of f and of campaign(). Examples are operation_aborted if resign() is
  // called while campaign() waits, errc::waiter_node_deleted if the waiter's node is deleted, and
  // errc::not_connected. If several threads run as leader on one object, each resigns only its own
  // leadership.
  template <class F>
  bool run_as_leader(F&& f, requeue again = requeue::no, std::stop_token stop = {});

  // --- the current leadership, or the last one (hold.hpp)
  //
  // If several threads campaign with this object, it may be the leadership of another thread.

  conclave::hold hold() const;
  bool held() const { return hold().held(); }
  std::int64_t fencing_token() const { return hold().fencing_token(); }
  std::stop_token lost() const { return hold().lost(); }

  // Returns the current state. It may already be newer than the event that on_event is handling.
  election_state state() const;
  const std::string& id() const noexcept;

  // --- for everyone; these functions read from the server

  // Returns nullopt if there is no candidate.
  std::optional<contender_info> leader() const;
  // Returns all candidates in order. The first one leads.
  std::vector<contender_info> candidates() const;

 private:
  static constexpr auto role = layout::role::exclusive;
  struct own;
  bool campaign_before(detail::deadline d);
  // Like campaign(), but returns the new leadership. A call of hold() after campaign() could
  // already return the leadership of another thread.
  std::optional<conclave::hold> campaign_to_lead(std::stop_token stop);
  // Ends this leadership, if it has not ended yet. Campaigns of other threads continue.
  void resign(const conclave::hold& leadership) noexcept;
  std::stop_token resignation() const;

  std::shared_ptr<own> own_;
  detail::lock_pointer state_;
};

template <class F>
bool election::run_as_leader(F&& f, requeue again, std::stop_token stop) {
  struct resigning {
    election& e;
    const conclave::hold& leadership;
    ~resigning() { e.resign(leadership); }
  };
  for (;;) {
    const auto elected = campaign_to_lead(stop);
    if (!elected) return false;
    const auto& leadership = *elected;
    const resigning at_the_end{*this, leadership};
    std::stop_source any;
    {
      const auto pass_on = [&any] { any.request_stop(); };
      const std::stop_callback on_loss{leadership.lost(), pass_on};
      const std::stop_callback on_stop{stop, pass_on};
      const std::stop_callback on_resign{resignation(), pass_on};
      if (!leadership.held()) pass_on();  // resigned before the callbacks were registered
      f(any.get_token());
    }
    if (again == requeue::no || stop.stop_requested()) return leadership.held();
  }
}

// Reports the leader to a program that is not a candidate: first the current leader, then changes
// of the leader. If the leader changes several times in a short time, some of the changes may not
// be reported, but the last one always is.
//
// Nodes of a different layout are ignored, even if the path has no other nodes. (In that case
// election::leader() throws errc::layout_mismatch.) Nothing is reported while there is no
// connection or while the client is not permitted to read the path. Reporting ends when the client
// is closed, or when its session has ended and no new session follows.
class election_observer {
 public:
  // `leader` is empty if there is no candidate. The rules for the callbacks in election_options
  // apply.
  using callback = std::function<void(const std::optional<contender_info>& leader)>;

  // Throws errc::invalid_path, or errc::forked in a child process of the client's process.
  election_observer(client& c, std::string path, callback on_change,
                    conclave::layout names = conclave::layout::election());
  // After the destructor has returned, `on_change` is not running and is no longer called. If
  // `on_change` itself calls the destructor, its current call continues, but it is not called
  // again.
  ~election_observer();
  election_observer(const election_observer&) = delete;
  election_observer& operator=(const election_observer&) = delete;

 private:
  struct own;
  std::shared_ptr<own> own_;
};

}  // namespace conclave
