// One client session as a state machine without I/O.
//
// In go the user's operations, the bytes that arrive, what became of a connection, and the time.
// Out come bytes to send, a wish to connect or disconnect, the time to be called again, and
// notices: completed operations, fired watches and session events in the one order in which they
// are to be delivered. Nothing here blocks, sleeps, reads a clock or calls the user.
//
// Not safe for concurrent use; the driver holds a lock around every call.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "conclave/boot_clock.hpp"
#include "conclave/client_options.hpp"
#include "conclave/connect_string.hpp"
#include "conclave/error.hpp"
#include "conclave/session_event.hpp"
#include "conclave/watch.hpp"
#include "session/host_rotation.hpp"
#include "session/operation.hpp"
#include "session/watch_registry.hpp"
#include "wire/frame.hpp"

namespace conclave::session {

using time_point = boot_clock::time_point;
using duration = boot_clock::duration;

struct completion {
  std::unique_ptr<operation> op;
  error_code ec;
};
struct firing {
  std::vector<watcher> watchers;
  watch_event event;
};
// Watchers that are not needed any more. The user's objects in them must not be destroyed inside
// the machine, whose lock they may want.
struct discarded {
  std::vector<watcher> watchers;
};
struct log_line {
  log_level level;
  std::string text;
};
using notice = std::variant<completion, firing, discarded, session_event, log_line>;

class machine {
 public:
  // shuffle_seed 0: the hosts in their given order.
  machine(connect_string where, const client_options& options, std::uint64_t shuffle_seed);

  // --- from the user

  // Connects; call once, first.
  void start(time_point now);

  // Takes the operation over, or says why not and leaves it alone.
  error_code submit(std::unique_ptr<operation>& op, time_point now);

  // Completes an operation at once with operation_aborted. If it was sent, its effect happens or
  // not, and its answer is dropped.
  void cancel(std::uint64_t id);

  // Forgets the watch; returns whether the server has to be told, too (by a remove_watches
  // operation submitted before anything else is). ec: errc::no_watcher if there is none.
  bool forget_watch(watch_kind kind, std::string_view path, const watcher& w, error_code& ec);

  // Ends the session. Requests sent before are answered first.
  void close(time_point now);

  // --- from the transport

  // On a Unix socket with process_binding(): the server is asked to hold the session open for as
  // long as the connection is.
  void connected(time_point now, std::int32_t process_binding = 0);
  void disconnected(error_code why, time_point now);
  // The bytes must stay valid during the call only.
  void received(std::string_view bytes, time_point now);
  void time_passed(time_point now);

  // --- to the transport

  // Bytes to send, and how many of them were.
  std::string_view output() const noexcept {
    return std::string_view{output_}.substr(output_sent_);
  }
  void sent(std::size_t n) noexcept;

  // What to do with the connection; each wish is handed out once. A connection that there still is
  // ends in either case.
  struct connect_to {
    endpoint host;
  };
  struct disconnect {};
  using wish = std::variant<std::monostate, connect_to, disconnect>;
  wish take_wish();
  bool has_wish() const noexcept { return !std::holds_alternative<std::monostate>(wish_); }

  // When to call time_passed() at the latest.
  time_point next_deadline() const noexcept;

  // Everything to be delivered, in order.
  std::vector<notice> take_notices() { return std::exchange(notices_, {}); }
  bool has_notices() const noexcept { return !notices_.empty(); }

  // Adds a line to the notices, if anybody reads the log.
  void log(log_level level, std::string text);

  // --- what is known

  session_state state() const noexcept;
  bool finished() const noexcept { return phase_ == phase::finished; }
  // Nothing is accepted any more, nor will be: finished, or about to be.
  bool over() const noexcept { return phase_ == phase::finished || phase_ == phase::closing; }
  std::int64_t session_id() const noexcept { return session_id_; }
  const std::string& session_password() const noexcept { return password_; }
  // Counts handshakes that succeeded, so each connection has a number of its own.
  std::uint64_t connection() const noexcept { return connection_; }
  std::chrono::milliseconds session_timeout() const noexcept { return timeout_; }
  bool read_only() const noexcept { return read_only_; }
  std::int64_t last_zxid() const noexcept { return last_zxid_; }
  std::size_t watch_count() const noexcept { return watches_.size(); }
  // "host:port: why" of the last attempt to connect that failed; empty if none did.
  const std::string& last_failure() const noexcept { return last_failure_; }
  std::size_t max_request_bytes() const noexcept { return options_.max_request_bytes; }

  // Until when a single server cannot have expired the session, a tenth of the timeout off:
  // the last answered request was sent at t, so not before t + timeout. The smallest time point if
  // there is no session.
  time_point session_deadline() const noexcept;

  // The server does not expire the session while this connection lasts.
  bool held_open() const noexcept { return phase_ == phase::attached && held_open_; }

  std::size_t outstanding() const noexcept {
    return waiting_.size() + in_flight_.size() + auths_in_flight_.size();
  }
  std::size_t in_flight() const noexcept { return in_flight_.size(); }
  // How long the latest answer took, counted until now.
  duration answer_time(time_point now) const noexcept {
    return last_answered_sent_ == time_point::min() ? duration{0} : now - last_answered_sent_;
  }
  // Whether submit() would answer errc::backlog_full.
  bool full() const noexcept;

 private:
  enum class phase { pausing, connecting, handshaking, attached, closing, finished };

  struct waiting_operation {
    std::unique_ptr<operation> op;
    time_point give_up;
  };
  struct sent_operation {
    std::unique_ptr<operation> op;  // none: cancelled, the answer is dropped
    wire::opcode type;
    std::int32_t xid;
    time_point sent_at;
    std::uint64_t position;  // of its first byte in this connection's stream
    bool covered;            // its watch was not asked for, since a lasting one brings the event
  };

  void schedule_connect(time_point now);
  error_code kept_back(const operation& op) const noexcept;
  void send(std::unique_ptr<operation> op, time_point now);
  void send_frame(std::string_view frame, time_point now);
  void drop(error_code why, time_point now);
  void settle_in_flight(time_point now);
  void fail_unreadable(errc read_error);
  void expire(time_point now);
  void finish(session_event::kind last, error_code ec);
  void fail_all(error_code ec);
  void end_watches(watch_event::kind why);

  bool take_handshake(std::string_view payload, time_point now);
  void resume(time_point now);
  bool take_message(std::string_view payload);
  bool take_oversized(const wire::frame_splitter::oversized_frame& frame);
  bool take_message(const wire::reply_header& header, wire::reader& in);
  bool take_event(wire::reader& in);
  void watches_refused(errc e);
  bool take_answer(const wire::reply_header& header, wire::reader& in);
  bool take_auth_answer(const wire::reply_header& header);
  bool leave_watch(const operation& op, std::int32_t error);
  void answered(time_point sent_at) noexcept;
  bool awaits(const wire::reply_header& header) const noexcept;
  bool covered_by_lasting_watch(const operation& op) const;
  bool watch_under_way(std::string_view path) const;
  bool remove_left_watch(std::string_view path);
  void forget_session();
  std::int32_t take_xid() noexcept;

  void complete(std::unique_ptr<operation> op, error_code ec);
  void tell(session_event::kind k, error_code why = {});
  duration connect_wait() const noexcept;

  client_options options_;
  std::string chroot_;
  host_rotation hosts_;
  endpoint host_;  // tried or attached now
  std::string last_failure_;

  phase phase_ = phase::finished;
  wish wish_;
  time_point phase_deadline_{};  // pausing: connect; connecting, handshaking, closing: give up

  // The session.
  std::int64_t session_id_ = 0;
  std::string password_;
  std::chrono::milliseconds timeout_;
  std::int64_t last_zxid_ = 0;
  bool read_only_ = false;
  std::int32_t process_binding_ = 0;  // of this connection
  bool held_open_ = false;            // as the server of this connection agrees
  bool real_session_ = false;         // made or confirmed by a server that is not read-only
  session_event::kind ended_ = session_event::kind::closed;

  // The connection.
  std::uint64_t connection_ = 0;
  wire::frame_splitter input_;
  std::string output_;
  std::size_t output_sent_ = 0;
  std::uint64_t stream_sent_ = 0;
  time_point last_send_{};
  time_point last_heard_{};
  time_point last_answered_sent_ = time_point::min();
  std::chrono::milliseconds lease_{0};  // the timeout that counted from then on
  std::optional<time_point> ping_sent_;
  bool heard_on_this_connection_ = false;  // more than the handshake
  bool doubtful_ = false;                  // a message asks for another handshake
  time_point handshake_sent_{};
  std::int32_t next_xid_ = 1;
  std::optional<std::int32_t> close_xid_;

  // Operations.
  std::deque<waiting_operation> waiting_;  // not sent yet
  std::deque<sent_operation> in_flight_;
  std::deque<std::unique_ptr<operation>> auths_in_flight_;  // none: credentials shown on connecting
  std::size_t outstanding_bytes_ = 0;
  std::size_t add_watches_in_flight_ = 0;

  watch_registry watches_;
  // Paths of lasting watches that the server still has for others' sake, though nobody wants them.
  std::set<std::string, std::less<>> left_watches_;
  std::vector<notice> notices_;
};

}  // namespace conclave::session
