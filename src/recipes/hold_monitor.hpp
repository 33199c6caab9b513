// Monitors a hold: its deadline, its connection, its nodes, and requests to release it.
//
// All members must be called inside a session_context::scope.
#pragma once

#include <functional>

#include "recipes/owned_nodes.hpp"

namespace conclave::recipes {

class hold_monitor final : public deadline_listener {
 public:
  // The monitor calls `lost` when the deadline has passed.
  hold_monitor(contender_context& c, owned_nodes& nodes, std::function<void(error_code)> lost)
      : context_{c}, nodes_{nodes}, lost_{std::move(lost)} {}

  // `s` is the state of the session when the lock was granted. Reports nothing: the caller reports
  // the grant, and the suspension if the hold is suspended() from its beginning.
  void begin(const session_clock::session_view& s);
  // Must be called after the nodes of the hold were replaced.
  void begin_again() { monitor_deadline(context_.session().session()); }
  void end() { context_.session().stop_monitoring(*this); }

  void connection_lost();
  void reconnected();
  // After this call, the monitor reports requests to release the lock. Other clients write such
  // requests into the node.
  void report_revocations();
  // Returns true if there is no connection, or if the nodes were not verified on a new one.
  bool suspended() const noexcept { return suspended_; }

  // Returns true if work() must verify nodes on a new connection or read a node.
  bool has_work() const;
  task<> work();

  // Returns the reason for the loss of a hold whose node was deleted.
  error_code why_deleted() const;
  // The nodes of a hold are watched once the hold has lasted for the time short_hold. Returns true
  // if twice that time has passed and a node still has no watch. This means that the process was
  // stopped. The nodes of the hold may have been deleted in the meantime.
  bool watches_too_late() const;
  // Reads and watches a node of the hold. If the node contains a request to release the lock,
  // reports that request.
  task<> read(owned_node& n);

  void check_deadline(time_point now) override;

 private:
  enum class connection {
    verified,    // the nodes were verified on this connection, or are being verified
    lost,        // there is no connection; only the deadline can end the hold
    unverified,  // there is a new connection; work() verifies the nodes on it
  };

  void monitor_deadline(const session_clock::session_view& s);
  // Returns the reason why the session may have ended. Empty before the deadline.
  error_code why_session_may_have_ended() const;
  // Makes work() read the nodes that have no watch. The read sets a watch.
  void request_missing_watches();
  task<> verify();

  contender_context& context_;
  owned_nodes& nodes_;
  std::function<void(error_code)> lost_;
  std::optional<time_point> since_;  // not set before the grant
  connection connection_ = connection::verified;
  bool suspended_ = false;
  bool reports_revocations_ = false;
};

}  // namespace conclave::recipes
