// Processes received bytes: the handshake, replies and watch events.
#include <utility>

#include "base/metric_counters.hpp"
#include "session/machine.hpp"
#include "session/paths.hpp"

namespace conclave::session {
namespace {

using kind = session_event::kind;

bool ends_session(errc e) { return e == errc::session_expired || e == errc::session_moved; }

}  // namespace

void machine::received(std::string_view bytes, time_point now) {
  if (phase_ != phase::handshaking && phase_ != phase::attached && phase_ != phase::closing) return;
  last_heard_ = now;
  reply_awaited_since_.reset();
  input_.feed(bytes);
  for (;;) {
    const auto payload = input_.next();
    const auto oversized = input_.oversized();
    if (!payload && !oversized) break;
    const auto result = oversized                      ? take_oversized(*oversized)
                        : phase_ == phase::handshaking ? take_handshake(*payload, now)
                                                       : take_message(*payload);
    if (result == malformed) {
      log(log_level::error, to_string(host_) + " sent something that is not ZooKeeper's protocol");
      fail_unreadable(errc::protocol_error);
      return drop(errc::protocol_error, now);
    }
    if (phase_ != phase::attached && phase_ != phase::closing) return;  // the connection has ended
    if (result == needs_handshake) return drop(errc::connection_loss, now);
  }
  const bool reply_awaited = ping_sent_ || !in_flight_.empty() || !auths_in_flight_.empty();
  if (reply_awaited && !reply_awaited_since_) reply_awaited_since_ = now;
  const bool nothing_requested = phase_ == phase::handshaking || in_flight_.empty();
  if (input_.failed() || (input_.begins_oversized() && nothing_requested)) {
    log(log_level::error, to_string(host_) + " sent a frame with an invalid length");
    fail_unreadable(errc::protocol_error);
    drop(errc::protocol_error, now);
  }
}

// A frame larger than max_reply_bytes must be the reply to the first operation in flight. Either
// the operation accepts the frame, or only this operation fails and the frame's bytes are dropped.
machine::message_result machine::take_oversized(
    const wire::frame_splitter::oversized_frame& frame) {
  if (phase_ != phase::attached && phase_ != phase::closing) return malformed;
  wire::reader in{frame.beginning};
  const auto header = in.read<wire::reply_header>();
  if (!in.ok() || !awaits(header)) return malformed;
  auto& sent = in_flight_.front();
  if (sent.op && frame.size <= sent.op->max_reply_bytes) {
    input_.accept_oversized();
    return accepted;
  }
  log(log_level::error, to_string(host_) + " sent a reply of " + std::to_string(frame.size) +
                            " bytes, more than max_reply_bytes");
  input_.skip_oversized();
  if (!std::exchange(received_on_connection_, true)) hosts_.succeeded();
  note_zxid(header.zxid);
  answered(sent.sent_at);
  if (sent.type == wire::opcode::add_watch && add_watches_in_flight_ > 0) --add_watches_in_flight_;
  auto op = std::move(sent.op);
  in_flight_.pop_front();
  // The outcome of a write is in the reply, which is dropped.
  if (op) {
    const auto ec = op->disconnect_rule() == on_disconnect::fail ? errc::connection_loss
                                                                 : errc::reply_too_large;
    complete(std::move(op), ec);
  }
  return accepted;
}

machine::message_result machine::take_handshake(std::string_view payload, time_point now) {
  wire::reader in{payload};
  const auto response = in.read<wire::connect_response>();
  wire::read_only_flag flag;
  if (in.ok() && !in.at_end()) in(flag);
  if (!in.ok()) return malformed;
  if (response.timeout_ms <= 0) {
    if (!session_confirmed_) return malformed;  // a new session cannot be expired
    expire(now);
    return accepted;
  }
  if (response.password.size() > 64 || response.session_id == 0) return malformed;
  const bool same = session_confirmed_ && response.session_id == session_id_;
  if (session_id_ != 0 && !same) {
    // The server answered with a session other than the requested one, or this is the first real
    // session after a read-only one. The old session's nodes and watches are gone.
    if (!options_.renew_expired) {
      finish(kind::expired, errc::session_expired);
      return accepted;
    }
    report(kind::expired);
    forget_session();
  }
  session_id_ = response.session_id;
  password_ = response.password;
  timeout_ = std::chrono::milliseconds{response.timeout_ms};
  read_only_ = flag.read_only;
  if (response.protocol_version != process_binding_) process_binding_ = 0;
  session_confirmed_ = session_confirmed_ || !read_only_;
  phase_ = phase::attached;
  input_.set_limit(options_.max_reply_bytes);
  ++connection_;
  answered(handshake_sent_);
  log(log_level::info, std::string{same ? "reconnected" : "connected"} + " to " + to_string(host_));
  report(same ? kind::reconnected : kind::connected);
  for (auto& [path, w] : watches_.persistent())
    notices_.push_back(triggered_watch{
        {std::move(w)},
        {watch_event::kind::possibly_missed, std::string{without_chroot(chroot_, path)}}});
  resume(now);
  return accepted;
}

// On a new connection, sends first the credentials, then the watches, then the waiting operations.
void machine::resume(time_point now) {
  for (const auto& c : options_.credentials) {
    std::string frame;
    wire::append_frame(frame, wire::request_header{wire::special_xid::auth, wire::opcode::auth},
                       wire::auth_request{0, c.scheme, c.value.reveal()});
    send_frame(frame, now);
    auths_in_flight_.push_back(nullptr);
  }
  const auto frames = watches_.rearm_frames(watched_zxid_, set_watches_bytes_);
  set_watches_in_flight_ = frames.size();
  for (const auto& frame : frames) send_frame(frame, now);
  auto waiting = std::exchange(waiting_, {});
  for (auto& w : waiting) {
    if (const auto ec = why_refused(*w.op))
      complete(std::move(w.op), ec);
    else
      send(std::move(w.op), now);
  }
}

machine::message_result machine::take_message(std::string_view payload) {
  wire::reader in{payload};
  const auto header = in.read<wire::reply_header>();
  const auto result = in.ok() ? take_message(header, in) : malformed;
  // The zxid is stored only after the message was accepted. An invalid message could contain a zxid
  // that no server has reached, and every server would then refuse the client.
  if (result != malformed) note_zxid(header.zxid);
  return result;
}

// Events arrive before any reply with their zxid. But on a new connection, the server first sends
// the missed events with its replies to set_watches. Until the last of these replies, the zxid of a
// reply does not show which events have arrived.
void machine::note_zxid(std::int64_t zxid) noexcept {
  last_zxid_ = std::max(last_zxid_, zxid);
  if (set_watches_in_flight_ == 0) watched_zxid_ = last_zxid_;
}

machine::message_result machine::take_message(const wire::reply_header& header, wire::reader& in) {
  // A handshake alone does not count as success. Otherwise the client would reconnect without delay
  // to a server that closes every connection after the handshake or refuses the watches.
  const bool accepts_watches = header.xid == wire::special_xid::set_watches && header.error == 0;
  const bool watches_pending = set_watches_in_flight_ > (accepts_watches ? 1u : 0u);
  if (!watches_pending && !std::exchange(received_on_connection_, true)) hosts_.succeeded();
  if (static_cast<errc>(header.error) == errc::session_closed_require_sasl_auth) {
    // The server requires authentication, and all credentials were sent. A reconnect would have the
    // same result.
    if (!in_flight_.empty() && in_flight_.front().xid == header.xid && in_flight_.front().op) {
      auto op = std::move(in_flight_.front().op);
      in_flight_.pop_front();
      complete(std::move(op), errc::session_closed_require_sasl_auth);
    }
    finish(kind::authentication_failed, errc::session_closed_require_sasl_auth);
    return accepted;
  }
  switch (header.xid) {
    case wire::special_xid::watch_event: return take_event(in);
    case wire::special_xid::ping:
      if (!ping_sent_) return malformed;
      answered(*ping_sent_);
      ping_sent_.reset();
      return accepted;
    case wire::special_xid::auth: return take_auth_reply(header);
    case wire::special_xid::set_watches:
      return take_set_watches_reply(static_cast<errc>(header.error));
    default:
      if (header.xid == close_xid_ && in_flight_.empty()) {
        finish(kind::closed, errc::closed);
        return accepted;
      }
      return take_reply(header, in);
  }
}

machine::message_result machine::take_set_watches_reply(errc result) {
  if (result != errc{}) {
    log(log_level::error,
        to_string(host_) + " refused the watches: " + error_code{result}.message());
    // An overloaded server may accept the watches next time. A server that does not know the
    // request will never accept them.
    if (result == errc::throttled || result == errc::operation_timeout ||
        result == errc::request_timeout || result == errc::system_error)
      return needs_handshake;
    end_watches(watch_event::kind::watch_lost);
  }
  if (set_watches_in_flight_ > 0) --set_watches_in_flight_;
  return accepted;
}

machine::message_result machine::take_event(wire::reader& in) {
  const auto event = in.read<wire::watcher_event>();
  if (!in.ok()) return malformed;
  if (event.type < 1 || event.type > 4) return accepted;  // the server's own session notices
  const auto type = static_cast<watch_event::kind>(event.type);
  auto watchers = watches_.trigger(type, event.path);
  if (!watchers.empty()) {
    notices_.push_back(triggered_watch{std::move(watchers),
                                       {type, std::string{without_chroot(chroot_, event.path)}}});
    return accepted;
  }
  // No watcher needs this event. It may come from a recursive watch on a parent path.
  for (auto path = event.path; !unneeded_watches_.empty() && path.starts_with('/');) {
    if (remove_unneeded_watch(path) || path == "/") break;
    path = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
  }
  return accepted;
}

machine::message_result machine::take_auth_reply(const wire::reply_header& header) {
  if (auths_in_flight_.empty()) return malformed;
  auto op = std::move(auths_in_flight_.front());
  auths_in_flight_.pop_front();
  if (header.error == 0) {
    if (op) {
      wire::reader nothing{{}};
      op->read_reply(header, nothing);
      if (op->new_credentials) options_.credentials.push_back(std::move(*op->new_credentials));
      complete(std::move(op), {});
    }
    return accepted;
  }
  if (op) complete(std::move(op), errc::auth_failed);
  finish(kind::authentication_failed, errc::auth_failed);
  return accepted;
}

// Replies arrive in the order of the requests. Anything else is a protocol error.
bool machine::awaits(const wire::reply_header& header) const noexcept {
  return !in_flight_.empty() && in_flight_.front().xid == header.xid &&
         in_flight_.front().position < stream_sent_;  // otherwise not sent yet
}

machine::message_result machine::take_reply(const wire::reply_header& header, wire::reader& in) {
  if (!awaits(header)) return malformed;
  auto& sent = in_flight_.front();
  // The server reports that the session has ended, so its replies no longer extend the deadline.
  // The next handshake shows whether the session has really ended.
  const bool ended = ends_session(static_cast<errc>(header.error));
  const auto result = ended ? needs_handshake : accepted;
  if (ended)
    last_answered_sent_ = time_point::min();
  else
    answered(sent.sent_at);
  if (sent.type == wire::opcode::add_watch && add_watches_in_flight_ > 0) --add_watches_in_flight_;
  if (!sent.op) {
    in_flight_.pop_front();
    return result;
  }
  if (!sent.op->read_reply(header, in)) return malformed;
  auto op = std::move(sent.op);
  const bool covered = sent.covered;
  if (counters_ != nullptr) counters_->requests.latency.add(last_heard_ - sent.sent_at);
  in_flight_.pop_front();
  const bool watching = store_watch(*op, header.error);
  // The persistent watch that would have delivered the event was not set, so no server has this
  // watch.
  std::optional<operation::wanted_watch> unwatched;
  if (covered && watching && !watches_.has_persistent(op->watch->slot, op->watch->path))
    unwatched = op->watch;
  const auto ec =
      op->verdict(header.error == 0 ? error_code{} : error_code{static_cast<errc>(header.error)});
  complete(std::move(op), ec);
  if (unwatched) {
    bool ignored = false;
    const auto what =
        unwatched->slot == watch_slot::child ? watch_kind::children : watch_kind::data;
    auto removed = watches_.remove(what, unwatched->path, unwatched->watcher, ignored);
    notices_.push_back(triggered_watch{
        std::move(removed),
        {watch_event::kind::watch_lost, std::string{without_chroot(chroot_, unwatched->path)}}});
  }
  return result;
}

// Stores the watch that the reply sets. Returns true if the reply sets a watch.
bool machine::store_watch(const operation& op, std::int32_t error) {
  if (!op.watch) return false;
  const auto& [slot, path, w, owner] = *op.watch;
  if (error == 0)
    watches_.add(slot == watch_slot::exist ? watch_slot::data : slot, path, w, owner);
  else if (slot == watch_slot::exist && static_cast<errc>(error) == errc::no_node)
    watches_.add(watch_slot::exist, path, w, owner);
  else
    return false;
  return true;
}

}  // namespace conclave::session
