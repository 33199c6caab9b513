#include "recipes/hold_monitor.hpp"

#include <algorithm>
#include <utility>

#include "recipes/contender_data.hpp"
#include "recipes/error_class.hpp"

namespace conclave::recipes {
namespace {

// A hold that lasts longer than this watches its own nodes, which people may delete by hand.
constexpr auto short_hold = std::chrono::milliseconds{100};

bool changed(const owned_node& n) { return n.watch.changed(); }

}  // namespace

void hold_monitor::begin(const session_clock::session_view& s) {
  monitor_deadline(s);
  if (context_.request().watches_own_node) request_missing_watches();
  if (!s.connected) connection_ = connection::lost;
  suspended_ = !s.connected;
}

void hold_monitor::monitor_deadline(const session_clock::session_view& s) {
  auto& session = context_.session();
  since_ = session.now();
  session.monitor(*this, *since_ + short_hold, s.deadline);
}

void hold_monitor::request_missing_watches() {
  for (auto& n : nodes_) n.watch.request_read();
}

void hold_monitor::connection_lost() {
  connection_ = connection::lost;
  // While the connection was open, the session may have had no deadline.
  context_.session().check_at(context_.session().session().deadline);
  if (!std::exchange(suspended_, true)) context_.events().suspended();
}

void hold_monitor::reconnected() { connection_ = connection::unverified; }

void hold_monitor::report_revocations() {
  if (std::exchange(reports_revocations_, true)) return;
  for (auto& n : nodes_) n.watch.mark_changed();
  context_.changed.notify();
}

bool hold_monitor::has_work() const {
  return connection_ == connection::unverified ||
         std::any_of(nodes_.begin(), nodes_.end(), changed);
}

task<> hold_monitor::work() {
  if (connection_ == connection::unverified)
    co_await verify();
  else
    co_await read(*std::find_if(nodes_.begin(), nodes_.end(), changed));
  co_return done;
}

// After a reconnect, a suspended hold is restored only if its nodes are still the same.
task<> hold_monitor::verify() {
  connection_ = connection::verified;  // the connection can be lost again during the reads
  const auto ec = co_await nodes_.verify();
  if (context_.interrupted() || is_connection_error(ec) || nodes_.one_was_deleted()) co_return done;
  if (ec) {  // an error says nothing about the nodes
    connection_ = connection::unverified;
    co_await context_.pause(retry_delay);
    co_return done;
  }
  if (connection_ != connection::verified) co_return done;
  request_missing_watches();  // a watch could not be set without a connection
  if (std::exchange(suspended_, false)) context_.events().restored();
  co_return done;
}

task<> hold_monitor::read(owned_node& n) {
  std::string data;
  const auto ec = co_await nodes_.read_and_watch_until_release(n, data);
  if (!ec && reports_revocations_ && !context_.release_requested() &&
      parse_contender_data(data).asked_to_release)
    context_.events().revocation_asked();
  if (outcome_unknown(ec) && !is_connection_error(ec)) {  // timed out inside the server
    n.watch.mark_changed();
    co_await context_.pause(retry_delay);
  }
  co_return done;
}

error_code hold_monitor::why_deleted() const {
  // A server that ends the session also deletes its nodes, but not before the deadline.
  const auto ended = why_session_may_have_ended();
  return ended ? ended : errc::node_deleted;
}

error_code hold_monitor::why_session_may_have_ended() const {
  const auto session = context_.session().session();
  if (context_.session().now() < session.deadline) return {};
  // The deadline of a session that is being closed counts as passed, even if the server replies.
  return session.end_reason ? session.end_reason : errc::deadline_passed;
}

bool hold_monitor::watches_too_late() const {
  return since_ && context_.session().now() >= *since_ + 2 * short_hold &&
         std::any_of(nodes_.begin(), nodes_.end(),
                     [](const owned_node& n) { return n.watch.must_read(); });
}

void hold_monitor::check_deadline(time_point now) {
  const auto alive = context_.owner().lock();
  if (const auto why = why_session_may_have_ended())
    lost_(why);
  else if (now >= *since_ + short_hold)
    request_missing_watches();
  context_.changed.notify();
}

}  // namespace conclave::recipes
