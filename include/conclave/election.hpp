// The election of a leader among processes and machines: ZooKeeper's LeaderElectionSupport.
//
//   conclave::election e{zk, "/services/mailer/leader"};
//   e.run_as_leader([](std::stop_token lost) { while (!lost.stop_requested()) send_next_mail(); });
//
// or step by step:
//
//   e.campaign();                                     // until we lead
//   storage.write(data, e.hold().fencing_token());    // a hold as a lock's: hold.hpp
//   e.resign();
//
// Candidates stand in a line in the order in which they came, and the first one leads. When it
// resigns or its session ends, the next one does. A candidate in the middle that goes wakes the one
// behind it and elects nobody. A candidate that waits keeps its place over a lost connection; with
// an expired session it stands again, at the end of the line.
//
// Candidate: the object. Several threads may campaign with one object; they take turns. For several
// candidates use several objects.
//
// Loss: leadership belongs to a session, and sessions can expire. hold() tells, as for a lock;
// whoever has lost leadership may campaign again, with the same object.
//
// Errors: as exclusive_lock.hpp says.
//
// Names in ZooKeeper's recipe: start() is async_campaign() or campaign(), stop() is resign(),
// getLeaderHostName() is leader()->owner, addListener() is election_options::on_event. Of Curator:
// LeaderLatch.start/await/hasLeadership/close are async_campaign/campaign/held/resign,
// LeaderSelector.takeLeadership is what run_as_leader() runs, autoRequeue is requeue::yes.
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

// Callbacks run as those of lock_options do: on the I/O thread or on the thread whose call caused
// them, with no lock of this library held; they must not block and must not throw.
struct election_options {
  election_options() = default;

  // How the candidates' nodes are named; every candidate must agree. layout::election() is
  // ZooKeeper's LeaderElectionSupport; Curator's LeaderLatch is layout::leader_latch(), its
  // LeaderSelector layout::curator(); kazoo's Election is layout::kazoo().
  conclave::layout layout = conclave::layout::election();

  // Who we are: what leader() and other libraries show. Empty: the host's name.
  std::string id;

  // Every step of our candidacy, one at a time and in their order; see election_event.hpp.
  std::function<void(const election_event&)> on_event;

  // The connection was lost while we led, or came back in time; see hold.hpp.
  std::function<void(const hold&)> on_suspended;
  std::function<void(const hold&)> on_restored;
  // As hold::lost(), with the reason; see hold::why_lost().
  std::function<void(const hold&, error_code why)> on_lost;
};

enum class requeue : bool { no, yes };

class election {
 public:
  // Throws errc::invalid_path, and errc::invalid_argument if the layout is for other locks or the
  // id would be read as something else (it has a line "id ..." in it, as lock nodes have, or is
  // what asks a holder to release). Nothing is sent yet.
  election(client& c, std::string path, election_options options = {});
  // Resigns. Calls that wait in it end with operation_aborted. Once it has returned no callback is
  // running or will be called (if it is called from one: except that one).
  ~election();
  election(const election&) = delete;
  election& operator=(const election&) = delete;

  // --- as a candidate

  // Returns when we lead. Leading already, it waits until we have lost that or resigned.
  void campaign();
  // False, and no candidate any more, if the stop was requested or the time was up before.
  [[nodiscard]] bool campaign(std::stop_token stop);
  template <class Rep, class Period>
  [[nodiscard]] bool campaign_for(const std::chrono::duration<Rep, Period>& d) {
    return campaign_before(detail::deadline_after(d));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool campaign_until(const std::chrono::time_point<Clock, Duration>& t) {
    return campaign_before(detail::deadline_at(t));
  }
  // void(error_code). Cancelling withdraws the candidacy.
  template <class Token>
  auto async_campaign(Token&& token) {
    return detail::initiate<void>(state_, &detail::start_lock, std::forward<Token>(token), role);
  }
  // void(error_code, bool).
  template <class Rep, class Period, class Token>
  auto async_campaign_for(const std::chrono::duration<Rep, Period>& d, Token&& token) {
    return detail::initiate<bool>(state_, &detail::start_try_lock, std::forward<Token>(token), role,
                                  detail::deadline_after(d));
  }

  // Gives up leadership, or the place in the line: calls that campaign end with operation_aborted.
  // Returns at once: it is sent, and repeated until the server has confirmed it or the session is
  // over. Does nothing if we are no candidate.
  void resign() noexcept;
  // void(error_code): when the server has confirmed it, or the session is over.
  template <class Token>
  auto async_resign(Token&& token) {
    return detail::initiate<void>(state_, &detail::start_resign, std::forward<Token>(token));
  }

  // Campaigns, then calls f(std::stop_token) on this thread, and resigns when it returns or throws.
  // The token is asked to stop when leadership is lost or resigned elsewhere, or `stop` is
  // requested; f should then return soon. With requeue::yes it goes on so, also after leadership
  // was lost or resigned elsewhere, until `stop` is requested or something is thrown. True if f
  // returned (the last time) while we still led; false if leadership was lost or resigned, or never
  // came because of `stop`. Throws what f throws, and what campaign() does: operation_aborted if
  // resign() is called while it waits to be elected, errc::out_of_line if its node is deleted
  // meanwhile, errc::not_connected and so on. Of several threads that run so on one object, each
  // resigns only what is its own.
  template <class F>
  bool run_as_leader(F&& f, requeue again = requeue::no, std::stop_token stop = {});

  // --- leadership, now or the last that was; see hold.hpp. If several threads campaign or resign,
  // it may be another one's.

  conclave::hold hold() const;
  bool held() const { return hold().held(); }
  std::int64_t fencing_token() const { return hold().fencing_token(); }
  std::stop_token lost() const { return hold().lost(); }

  // Perhaps further than the event that is being told.
  election_state state() const;
  const std::string& id() const noexcept;

  // --- as anybody; these ask the server

  // None if there is no candidate.
  std::optional<contender_info> leader() const;
  // In their order; the first one leads.
  std::vector<contender_info> candidates() const;

 private:
  static constexpr auto role = layout::role::exclusive;
  struct own;
  bool campaign_before(detail::deadline d);
  // As campaign(), with the leadership that came of it: hold() may be another thread's by then.
  std::optional<conclave::hold> campaign_to_lead(std::stop_token stop);
  // This leadership, if it is not over already; other threads' campaigns go on.
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
      if (!leadership.held()) pass_on();  // resigned before we listened
      f(any.get_token());
    }
    if (again == requeue::no || stop.stop_requested()) return leadership.held();
  }
}

// Who leads, from the outside: told now, and then at every change. When several changes follow each
// other faster than they can be read, those in between may be left out; the last one is told.
//
// Nodes of another layout are no candidates here, even if there are no others (leader() throws
// errc::layout_mismatch). As long as there is no connection, or the path may not be read, nothing
// is told; nor any more once the client's session is over for good, which the client tells.
class election_observer {
 public:
  // None: there is no candidate. `told` is called as the callbacks of election_options are.
  using callback = std::function<void(const std::optional<contender_info>& leader)>;

  // Throws errc::invalid_path.
  election_observer(client& c, std::string path, callback told,
                    conclave::layout names = conclave::layout::election());
  // `told` is not called any more once this has returned, unless this is called from it.
  ~election_observer();
  election_observer(const election_observer&) = delete;
  election_observer& operator=(const election_observer&) = delete;

 private:
  struct own;
  std::shared_ptr<own> own_;
};

}  // namespace conclave
