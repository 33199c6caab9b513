#include "session/machine.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/metric_counters.hpp"
#include "session/paths.hpp"

namespace conclave::session {
namespace {

using namespace std::chrono_literals;
using kind = session_event::kind;

constexpr std::size_t password_size = 16;
constexpr std::size_t reply_header_bytes = 16;  // xid, zxid, error
constexpr std::size_t handshake_bytes = std::size_t{64} * 1024;
// A larger output buffer is freed when it is empty, and compacted when half of it has been sent.
constexpr std::size_t kept_output = std::size_t{64} * 1024;
// Practically forever, but small enough to add to a time_point.
constexpr std::chrono::milliseconds for_ever = std::chrono::hours{24 * 365};
// A read that has been repeated this often fails.
constexpr unsigned max_repeats = 8;

error_code aborted() { return {ECANCELED, boost::system::system_category()}; }
error_code timed_out() { return {ETIMEDOUT, boost::system::system_category()}; }

}  // namespace

machine::machine(connect_string where, const client_options& options, std::uint64_t shuffle_seed)
    : options_{options},
      counters_{options.metrics ? &options.metrics->counters() : nullptr},
      chroot_{std::move(where.chroot)},
      hosts_{std::move(where.hosts), options.reconnect, shuffle_seed},
      timeout_{options.session_timeout},
      input_{options.max_reply_bytes, reply_header_bytes} {}

// --- calls by the user

void machine::start(time_point now) { schedule_connect(now); }

bool machine::full() const noexcept {
  return outstanding() >= options_.max_outstanding ||
         outstanding_bytes_ >= options_.max_outstanding_bytes;
}

duration machine::connect_wait() const noexcept {
  return options_.connect_wait > 0ms ? std::min(options_.connect_wait, for_ever) : timeout_;
}

error_code machine::end_reason() const noexcept {
  if (phase_ == phase::closing) return errc::closed;
  if (phase_ != phase::finished) return {};
  if (ended_ == kind::closed) return errc::closed;
  return ended_ == kind::expired ? errc::session_expired : errc::auth_failed;
}

error_code machine::submit(std::unique_ptr<operation>& op, time_point now) {
  if (const auto why = end_reason()) return why;
  if (op->frame.size() - wire::frame_prefix > options_.max_request_bytes) return errc::too_large;
  if (full() && !op->beyond_limits) return errc::backlog_full;
  if (const auto ec = why_refused(*op)) return ec;
  outstanding_bytes_ += op->frame.size();
  if (phase_ == phase::attached)
    send(std::move(op), now);
  else
    waiting_.push_back({std::move(op), now + connect_wait()});
  return {};
}

// Returns the reason if the operation must not be sent in this session or on this connection.
error_code machine::why_refused(const operation& op) const noexcept {
  if (const auto ec = op.why_refused()) return ec;
  const auto& [session, connection] = op.bound_to;
  if (session != 0 && session != session_id_) return errc::session_expired;
  if (connection != 0 && (connection != connection_ || phase_ != phase::attached))
    return errc::not_connected;
  return {};
}

void machine::cancel(std::uint64_t id) {
  const auto waiting =
      std::find_if(waiting_.begin(), waiting_.end(), [&](auto& w) { return w.op->id() == id; });
  if (waiting != waiting_.end()) {
    auto op = std::move(waiting->op);
    waiting_.erase(waiting);
    return complete(std::move(op), aborted());
  }
  const auto sent = std::find_if(in_flight_.begin(), in_flight_.end(),
                                 [&](auto& s) { return s.op && s.op->id() == id; });
  if (sent != in_flight_.end()) return complete(std::move(sent->op), aborted());
  const auto auth = std::find_if(auths_in_flight_.begin(), auths_in_flight_.end(),
                                 [&](auto& a) { return a && a->id() == id; });
  if (auth != auths_in_flight_.end()) complete(std::move(*auth), aborted());
}

bool machine::forget_watch(watch_kind what, std::string_view path, const watcher& w,
                           error_code& ec) {
  bool emptied = false;
  const bool had_persistent_watch = watches_.has_persistent(watch_slot::data, path);
  auto removed = watches_.remove(what, path, w, emptied);
  if (removed.empty()) {
    ec = errc::no_watcher;
    return false;
  }
  notices_.push_back(discarded{std::move(removed)});
  if (phase_ != phase::attached) return false;  // no server has the watch now
  if (emptied && !watch_in_progress(path)) return !remove_unneeded_watch(path);
  if (had_persistent_watch && !watches_.has_persistent(watch_slot::data, path))
    unneeded_watches_.emplace(path);
  return false;
}

// Returns true if a read that sets a watch on this path is waiting or in flight. A removal sent now
// would also remove its watch from the server.
bool machine::watch_in_progress(std::string_view path) const {
  const auto needs = [&](const auto& each) {
    return each.op && each.op->watch && each.op->watch->path == path;
  };
  return std::any_of(in_flight_.begin(), in_flight_.end(), needs) ||
         std::any_of(waiting_.begin(), waiting_.end(), needs);
}

// Removes a persistent watch from the server if no watcher needs it. The request removes all
// watches of the path, so it is sent only if no watcher needs any of them.
bool machine::remove_unneeded_watch(std::string_view path) {
  const auto unneeded = unneeded_watches_.find(path);
  if (unneeded == unneeded_watches_.end() || phase_ != phase::attached || watches_.contains(path) ||
      watch_in_progress(path))
    return false;
  const auto position = stream_sent_ + (output_.size() - output_sent_);
  constexpr auto type = wire::opcode::remove_watches;
  const auto xid = take_xid();
  constexpr std::int32_t any = 3;
  std::string frame;
  wire::append_frame(frame, wire::request_header{xid, type},
                     wire::path_type_request{*unneeded, any});
  send_frame(frame, last_heard_);
  in_flight_.push_back({nullptr, type, xid, last_heard_, position, false});
  unneeded_watches_.erase(unneeded);
  return true;
}

void machine::close(time_point now) {
  if (phase_ == phase::finished || phase_ == phase::closing) return;
  if (phase_ != phase::attached) return finish(kind::closed, errc::closed);
  close_xid_ = take_xid();
  std::string frame;
  wire::append_frame(frame, wire::request_header{*close_xid_, wire::opcode::close_session});
  send_frame(frame, now);
  phase_ = phase::closing;
  phase_deadline_ = now + std::min(timeout_, options_.session_timeout) / 3;
  last_answered_sent_ = time_point::min();  // from now on the server may end the session
}

// --- connecting

void machine::schedule_connect(time_point now) {
  const auto attempt = hosts_.next();
  host_ = attempt.host;
  phase_ = phase::pausing;
  phase_deadline_ = now + std::min<std::chrono::milliseconds>(attempt.delay, for_ever);
  if (attempt.delay == 0ms) time_passed(now);
}

void machine::connected(time_point now, std::int32_t process_binding) {
  if (phase_ != phase::connecting) return;
  phase_ = phase::handshaking;
  input_.reset();
  input_.set_limit(handshake_bytes);
  output_.clear();
  output_sent_ = 0;
  stream_sent_ = 0;
  ping_sent_.reset();
  reply_awaited_since_.reset();
  received_on_connection_ = false;
  handshake_sent_ = last_heard_ = now;
  // Other servers do not know a session that a read-only server created, so request a new one.
  const bool again = session_confirmed_;
  const std::string no_password(password_size, '\0');
  process_binding_ = process_binding;
  const wire::connect_request request{process_binding, last_zxid_,
                                      static_cast<std::int32_t>(options_.session_timeout.count()),
                                      again ? session_id_ : 0, again ? password_ : no_password};
  std::string frame;
  wire::append_frame(frame, request, wire::read_only_flag{options_.allow_read_only});
  send_frame(frame, now);
}

void machine::disconnected(error_code why, time_point now) {
  if (phase_ == phase::connecting || phase_ == phase::handshaking) {
    if (counters_ != nullptr) counters_->sessions.failed_attempts.add();
    last_failure_ = to_string(host_) + ": " + why.message();
    log(log_level::warning, "cannot connect to " + last_failure_);
  }
  if (phase_ != phase::finished && phase_ != phase::pausing) drop(why, now);
}

// Ends the connection, requeues or completes the operations in flight, and tries the next host.
void machine::drop(error_code why, time_point now) {
  const bool was_attached = phase_ == phase::attached;
  command_ = disconnect{};
  if (phase_ == phase::closing) return finish(kind::closed, errc::closed);
  if (was_attached) {
    log(log_level::warning, "lost the connection to " + to_string(host_) + ": " + why.message());
    report(kind::suspended, why);
  }
  requeue_or_complete_in_flight(now);
  unneeded_watches_.clear();
  input_.reset();
  output_ = {};
  output_sent_ = 0;
  schedule_connect(now);
}

void machine::requeue_or_complete_in_flight(time_point now) {
  std::deque<waiting_operation> again;
  const auto keep = [&](std::unique_ptr<operation> op) {
    if (op->bound_to.connection != 0) return complete(std::move(op), errc::not_connected);
    again.push_back({std::move(op), now + connect_wait()});
  };
  for (auto& op : std::exchange(auths_in_flight_, {}))
    if (op) keep(std::move(op));
  bool write_lost = false;
  for (auto& s : std::exchange(in_flight_, {})) {
    if (!s.op) continue;
    const auto rule = s.op->disconnect_rule();
    // Requests that the socket did not accept cannot have had an effect.
    const bool never_sent = s.position >= stream_sent_;
    if (rule == on_disconnect::succeed) {
      complete(std::move(s.op), {});
    } else if (rule == on_disconnect::repeat) {
      if (!never_sent) ++s.op->repeats;
      if (s.op->repeats <= max_repeats)
        keep(std::move(s.op));
      else
        complete(std::move(s.op), errc::connection_loss);
    } else if (never_sent && (!write_lost || s.op->independent)) {
      keep(std::move(s.op));
    } else {
      // Later writes may depend on a write whose outcome is unknown, so they are not sent.
      complete(std::move(s.op), never_sent ? errc::not_connected : errc::connection_loss);
      write_lost = true;
    }
  }
  add_watches_in_flight_ = 0;
  for (auto& w : std::exchange(waiting_, {})) again.push_back(std::move(w));
  waiting_ = std::move(again);
}

// The reply to the first operation cannot be parsed. A repeated request would get the same reply.
void machine::fail_unreadable(errc read_error) {
  if (in_flight_.empty() || !in_flight_.front().op) return;
  auto op = std::move(in_flight_.front().op);
  in_flight_.pop_front();
  const auto ec = op->disconnect_rule() == on_disconnect::fail ? errc::connection_loss : read_error;
  complete(std::move(op), ec);
}

// --- time

// The connection counts as lost if two conditions are met: nothing was received for two thirds of
// the timeout, and a reply has been pending for one third of the timeout. The second condition
// matters only if the ping was sent late because this process was stopped.
time_point machine::silence_deadline() const noexcept {
  if (!reply_awaited_since_) return time_point::max();
  return std::max(last_heard_ + timeout_ * 2 / 3, *reply_awaited_since_ + timeout_ / 3);
}

void machine::time_passed(time_point now) {
  switch (phase_) {
    case phase::pausing:
      if (now < phase_deadline_) break;
      phase_ = phase::connecting;
      // Every host should be tried before the session can expire.
      phase_deadline_ =
          now + std::max<duration>(
                    timeout_ / static_cast<int>(std::max<std::size_t>(hosts_.size(), 3)), 100ms);
      command_ = connect_to{host_};
      break;
    case phase::connecting:
    case phase::handshaking:
      if (now >= phase_deadline_) disconnected(timed_out(), now);
      break;
    case phase::closing:
      if (now >= phase_deadline_) drop(timed_out(), now);
      break;
    case phase::attached:
      // This process did not run for a while. The server may not have run either, and its reply may
      // not have been read. So the wait for the reply starts again now.
      if (reply_awaited_since_ && now > next_deadline() + timeout_ / 12) reply_awaited_since_ = now;
      if (now >= silence_deadline()) return drop(timed_out(), now);
      if (!ping_sent_ && now >= last_send_ + timeout_ / 3) {
        std::string frame;
        wire::append_frame(frame,
                           wire::request_header{wire::special_xid::ping, wire::opcode::ping});
        ping_sent_ = now;
        send_frame(frame, now);
      }
      break;
    case phase::finished: return;
  }
  while (!waiting_.empty() && now >= waiting_.front().give_up) {
    auto op = std::move(waiting_.front().op);
    waiting_.pop_front();
    complete(std::move(op), errc::not_connected);
  }
}

time_point machine::next_deadline() const noexcept {
  auto when = time_point::max();
  switch (phase_) {
    case phase::finished: return when;
    case phase::attached:
      when = silence_deadline();
      if (!ping_sent_) when = std::min(when, last_send_ + timeout_ / 3);
      break;
    default: when = phase_deadline_;
  }
  return waiting_.empty() ? when : std::min(when, waiting_.front().give_up);
}

time_point machine::session_deadline() const noexcept {
  const bool alive = session_id_ != 0 && last_answered_sent_ != time_point::min();
  return alive ? last_answered_sent_ + lease_ - lease_ / 10 : time_point::min();
}

// --- sending

void machine::send_frame(std::string_view frame, time_point now) {
  output_.append(frame);
  last_send_ = now;
  if (!reply_awaited_since_) reply_awaited_since_ = now;
}

void machine::send(std::unique_ptr<operation> op, time_point now) {
  const auto position = stream_sent_ + (output_.size() - output_sent_);
  const auto at = output_.size();
  send_frame(op->frame, now);
  const bool covered = covered_by_persistent_watch(*op);
  if (covered) output_.back() = '\0';  // the last field of the request: no watch
  if (op->type() == wire::opcode::add_watch) ++add_watches_in_flight_;
  if (op->type() == wire::opcode::auth) {
    auths_in_flight_.push_back(std::move(op));
    return;
  }
  const auto xid = take_xid();
  const auto bytes = wire::big_endian(static_cast<std::uint32_t>(xid));
  output_.replace(at + wire::frame_prefix, sizeof bytes, reinterpret_cast<const char*>(&bytes),
                  sizeof bytes);
  const auto type = op->type();
  op->sent_on = {session_id_, connection_};
  in_flight_.push_back({std::move(op), type, xid, now, position, covered});
}

// Servers before 3.9 keep one kind of watch per path and session, so a one-shot watch would replace
// a persistent one. The persistent watch delivers the event in any case.
bool machine::covered_by_persistent_watch(const operation& op) const {
  if (!op.watch || op.type() == wire::opcode::add_watch) return false;
  const auto slot = op.watch->slot;
  if (watches_.has_persistent(slot, op.watch->path)) return true;
  return add_watches_in_flight_ > 0 &&
         std::any_of(in_flight_.begin(), in_flight_.end(), [&](const auto& s) {
           return s.type == wire::opcode::add_watch && s.op &&
                  s.op->watch->path == op.watch->path &&
                  (s.op->watch->slot == watch_slot::persistent || slot != watch_slot::child);
         });
}

std::int32_t machine::take_xid() noexcept {
  return std::exchange(next_xid_, next_xid_ == INT32_MAX ? 1 : next_xid_ + 1);
}

void machine::sent(std::size_t n) noexcept {
  output_sent_ += n;
  stream_sent_ += n;
  if (output_sent_ < output_.size()) {
    if (output_sent_ > kept_output && output_sent_ > output_.size() / 2) {
      output_.erase(0, output_sent_);
      output_sent_ = 0;
    }
    return;
  }
  output_sent_ = 0;
  if (output_.capacity() > kept_output)
    output_ = {};
  else
    output_.clear();
}

machine::command machine::take_command() { return std::exchange(command_, std::monostate{}); }

// --- end of the session

void machine::expire(time_point now) {
  command_ = disconnect{};
  if (!options_.renew_expired) return finish(kind::expired, errc::session_expired);
  log(log_level::warning, "the session has expired; beginning a new one");
  report(kind::expired);
  forget_session();
  schedule_connect(now);
}

void machine::forget_session() {
  session_id_ = 0;
  password_.clear();
  session_confirmed_ = false;
  last_answered_sent_ = time_point::min();
  last_zxid_ = watched_zxid_ = 0;  // the server of the new session may have been reset
  set_watches_in_flight_ = 0;
  timeout_ = options_.session_timeout;
  fail_all(errc::session_expired);
  end_watches(watch_event::kind::session_ended);
}

void machine::finish(kind last, error_code ec) {
  command_ = disconnect{};
  phase_ = phase::finished;
  ended_ = last;
  report(last);
  fail_all(ec);
  // The program may already have destroyed objects that its watchers use, so they are not called.
  if (last == kind::closed) {
    discarded silent;
    for (auto& [path, w] : watches_.take_all()) silent.watchers.push_back(std::move(w));
    notices_.push_back(std::move(silent));
  } else {
    end_watches(watch_event::kind::session_ended);
  }
  session_id_ = 0;
  last_answered_sent_ = time_point::min();
  output_ = {};
  output_sent_ = 0;
  input_.reset();
}

void machine::fail_all(error_code ec) {
  for (auto& s : std::exchange(in_flight_, {})) {
    if (!s.op) continue;
    const bool may_have_happened =
        s.op->disconnect_rule() == on_disconnect::fail && s.position < stream_sent_;
    complete(std::move(s.op), may_have_happened ? errc::connection_loss : ec);
  }
  for (auto& op : std::exchange(auths_in_flight_, {}))
    if (op) complete(std::move(op), ec);
  for (auto& w : std::exchange(waiting_, {})) complete(std::move(w.op), ec);
  add_watches_in_flight_ = 0;
}

void machine::end_watches(watch_event::kind why) {
  for (auto& [path, w] : watches_.take_all())
    notices_.push_back(
        triggered_watch{{std::move(w)}, {why, std::string{without_chroot(chroot_, path)}}});
}

void machine::answered(time_point sent_at) noexcept {
  // A reply from a read-only server does not prove that the session is alive on the other servers.
  if (phase_ != phase::attached || read_only_) return;
  last_answered_sent_ = std::max(last_answered_sent_, sent_at);
  lease_ = timeout_;
}

// --- state and notices

session_state machine::state() const noexcept {
  if (phase_ == phase::attached) return session_state::connected;
  if (phase_ == phase::closing) return session_state::closed;
  if (phase_ != phase::finished)
    return session_id_ != 0 ? session_state::suspended : session_state::connecting;
  switch (ended_) {
    case kind::expired: return session_state::expired;
    case kind::authentication_failed: return session_state::authentication_failed;
    default: return session_state::closed;
  }
}

void machine::complete(std::unique_ptr<operation> op, error_code ec) {
  outstanding_bytes_ -= op->frame.size();
  if (counters_ != nullptr) counters_->requests.completed(ec);
  notices_.push_back(completion{std::move(op), ec});
}

void machine::count_event(kind k) noexcept {
  auto& n = counters_->sessions;
  switch (k) {
    case kind::connected: return n.started.add();
    case kind::suspended: return n.connections_lost.add();
    case kind::reconnected: return n.reconnects.add();
    case kind::expired: return n.expired.add();
    case kind::closed:
    case kind::authentication_failed: return;
  }
}

void machine::report(kind k, error_code why) {
  if (counters_ != nullptr) count_event(k);
  notices_.push_back(session_event{k, session_id_, why});
}

void machine::log(log_level level, std::string text) {
  if (options_.log) notices_.push_back(log_line{level, std::move(text)});
}

}  // namespace conclave::session
