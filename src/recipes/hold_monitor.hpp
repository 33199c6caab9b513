// Watches over a hold: its deadline, its connection, its nodes, and requests to release it.
//
// All members are called inside a session_context::scope.
#pragma once

#include <functional>

#include "recipes/owned_nodes.hpp"

namespace conclave::recipes {

class hold_monitor final : public deadline_listener {
 public:
  // `lost` is called when the deadline passes.
  hold_monitor(contender_context& c, owned_nodes& nodes, std::function<void(error_code)> lost)
      : context_{c}, nodes_{nodes}, lost_{std::move(lost)} {}

  void begin();
  // The nodes of the hold were replaced.
  void begin_again();
  void end() { context_.session().stop_monitoring(*this); }

  void connection_lost();
  void reconnected();
  // From now on requests to release, which others write into the node, are reported.
  void report_revocations();

  // Something must be done before the hold can be relied on again, or watched.
  bool has_work() const;
  task<> work();

  // Why a hold is lost whose node was deleted.
  error_code why_deleted() const;
  // The hold has lasted so long that its nodes should be watched, and they are not: the process
  // stood still, and they may have been deleted.
  bool watches_too_late() const;

  time_point check_deadline(time_point now) override;

 private:
  // Of the connection: whether the nodes were seen on it.
  enum class connection { verified, lost, unverified };

  // No error before the deadline.
  error_code why_session_may_have_ended() const;
  task<> verify();
  task<> read_changed_node();

  contender_context& context_;
  owned_nodes& nodes_;
  std::function<void(error_code)> lost_;
  std::optional<time_point> since_;  // none: it was not granted
  connection connection_ = connection::verified;
  bool suspension_reported_ = false;
  bool reports_revocations_ = false;
};

}  // namespace conclave::recipes
