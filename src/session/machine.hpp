// One client session as a state machine without I/O.
//
// Inputs are the user's operations, received bytes, changes of the connection, and the time.
// Outputs are bytes to send, requests to connect or disconnect, the time by which time_passed()
// must be called, and notices. Notices are completed operations, watch events and session events,
// in the order of delivery. The machine never blocks, sleeps, reads a clock or calls user code.
//
// The machine is not thread-safe. The driver locks its mutex during every call.
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
#include "conclave/metrics.hpp"
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
struct triggered_watch {
  std::vector<watcher> watchers;
  watch_event event;
};
// Watchers that are no longer needed. The driver destroys them after it has unlocked its mutex,
// because destructors of user objects may need that mutex.
struct discarded {
  std::vector<watcher> watchers;
};
struct log_line {
  log_level level;
  std::string text;
};
using notice = std::variant<completion, triggered_watch, discarded, session_event, log_line>;

class machine {
 public:
  // shuffle_seed 0 keeps the order of the hosts.
  machine(connect_string where, const client_options& options, std::uint64_t shuffle_seed);

  // --- calls by the user

  // Starts to connect. Must be called once, before any other function.
  void start(time_point now);

  // Takes ownership of the operation. On error, returns the reason and leaves `op` unchanged.
  error_code submit(std::unique_ptr<operation>& op, time_point now);

  // Completes an operation at once with operation_aborted. If the operation was already sent, it
  // may still take effect, and its reply is dropped.
  void cancel(std::uint64_t id);

  // Removes the watcher from the client's own watches, or all watchers of the program if `w` is
  // empty. Returns true if the server's watch must be removed, too. The caller must then submit a
  // remove_watches operation before any other operation. Sets ec to errc::no_watcher if there is no
  // such watch.
  bool forget_watch(watch_kind kind, std::string_view path, const watcher& w, error_code& ec);

  // Closes the session. The server answers all earlier requests first.
  void close(time_point now);

  // --- calls by the transport

  // If process_binding is not zero, the client asks the server to keep the session while this Unix
  // socket connection is open.
  void connected(time_point now, std::int32_t process_binding = 0);
  void disconnected(error_code why, time_point now);
  // Processes received bytes. The bytes need to stay valid only during the call.
  void received(std::string_view bytes, time_point now);
  void time_passed(time_point now);

  // --- output for the transport

  // The bytes to send. The transport calls sent() with the number of bytes that it has sent.
  std::string_view output() const noexcept {
    return std::string_view{output_}.substr(output_sent_);
  }
  void sent(std::size_t n) noexcept;

  // Returns what the transport must do with the connection. Each command is returned once. Both
  // commands also close an existing connection.
  struct connect_to {
    endpoint host;
  };
  struct disconnect {};
  using command = std::variant<std::monostate, connect_to, disconnect>;
  command take_command();
  bool has_command() const noexcept { return !std::holds_alternative<std::monostate>(command_); }

  // The time by which time_passed() must be called. If the process was stopped or the computer was
  // suspended, the call may be late. In that case, the machine keeps the connection long enough for
  // a reply to arrive.
  time_point next_deadline() const noexcept;

  // Returns all notices that must be delivered, in order.
  std::vector<notice> take_notices() { return std::exchange(notices_, {}); }
  bool has_notices() const noexcept { return !notices_.empty(); }

  // Limits the size of each set_watches request. The default is far below the frames that servers
  // accept. For tests.
  void limit_set_watches(std::size_t bytes) noexcept { set_watches_bytes_ = bytes; }

  // Adds a log line to the notices, if a log callback is set.
  void log(log_level level, std::string text);

  // --- state

  session_state state() const noexcept;
  bool finished() const noexcept { return phase_ == phase::finished; }
  // The reason why the session accepts no more operations: it was closed or is being closed. Empty
  // if the session accepts operations.
  error_code end_reason() const noexcept;
  std::int64_t session_id() const noexcept { return session_id_; }
  const std::string& session_password() const noexcept { return password_; }
  // The number of successful handshakes, which identifies the current connection.
  std::uint64_t connection() const noexcept { return connection_; }
  std::chrono::milliseconds session_timeout() const noexcept { return timeout_; }
  bool read_only() const noexcept { return read_only_; }
  std::int64_t last_zxid() const noexcept { return last_zxid_; }
  std::size_t watch_count() const noexcept { return watches_.size(); }
  // "host:port: reason" of the last failed connection attempt. Empty if there was none.
  const std::string& last_failure() const noexcept { return last_failure_; }
  std::size_t max_request_bytes() const noexcept { return options_.max_request_bytes; }

  // The time before which a single server cannot expire the session: the send time of the last
  // answered request, plus nine tenths of the timeout. Returns time_point::min() if there is no
  // session.
  time_point session_deadline() const noexcept;

  // Returns true if the server does not expire the session while this connection is open.
  bool held_open() const noexcept { return phase_ == phase::attached && process_binding_ != 0; }

  std::size_t outstanding() const noexcept {
    return waiting_.size() + in_flight_.size() + auths_in_flight_.size();
  }
  std::size_t in_flight() const noexcept { return in_flight_.size(); }
  // Returns the time between sending the last answered request and `now`.
  duration reply_time(time_point now) const noexcept {
    return last_answered_sent_ == time_point::min() ? duration{0} : now - last_answered_sent_;
  }
  // Returns true if submit() would return errc::backlog_full.
  bool full() const noexcept;

 private:
  // In the phases before `attached`, submitted operations wait. In `closing` and `finished`, they
  // are refused.
  enum class phase {
    pausing,      // waits until phase_deadline_, then connects to the next host
    connecting,   // the transport connects; phase_deadline_ limits the attempt
    handshaking,  // the connect request was sent; the reply confirms, replaces or ends the session
    attached,     // requests, pings, replies and watch events; operations are sent only here
    closing,      // the close request was sent; earlier requests still get their replies
    finished,     // the session was closed, has expired or failed to authenticate; nothing follows
  };
  // What a received message means for the connection.
  enum class message_result {
    accepted,
    malformed,  // not ZooKeeper's protocol: the connection is closed with errc::protocol_error
    // Only a new handshake can show the state of the session or restore the watches, so the
    // connection is closed with errc::connection_loss.
    needs_handshake,
  };
  using enum message_result;

  struct waiting_operation {
    std::unique_ptr<operation> op;
    time_point give_up;
  };
  struct sent_operation {
    std::unique_ptr<operation> op;  // null if cancelled; the reply is then dropped
    wire::opcode type;
    std::int32_t xid;
    time_point sent_at;
    std::uint64_t position;  // offset of its first byte in the stream
    bool covered;  // no watch was requested, because a persistent watch delivers its events
  };

  void schedule_connect(time_point now);
  error_code why_refused(const operation& op) const noexcept;
  void send(std::unique_ptr<operation> op, time_point now);
  void send_frame(std::string_view frame, time_point now);
  time_point silence_deadline() const noexcept;
  void drop(error_code why, time_point now);
  void requeue_or_complete_in_flight(time_point now);
  void fail_unreadable(errc read_error);
  void expire(time_point now);
  void finish(session_event::kind last, error_code ec);
  void fail_all(error_code ec);
  void end_watches(watch_event::kind why);

  message_result take_handshake(std::string_view payload, time_point now);
  void resume(time_point now);
  message_result take_message(std::string_view payload);
  message_result take_oversized(const wire::frame_splitter::oversized_frame& frame);
  message_result take_message(const wire::reply_header& header, wire::reader& in);
  message_result take_event(wire::reader& in);
  message_result take_set_watches_reply(errc result);
  message_result take_reply(const wire::reply_header& header, wire::reader& in);
  message_result take_auth_reply(const wire::reply_header& header);
  void note_zxid(std::int64_t zxid) noexcept;
  bool store_watch(const operation& op, std::int32_t error);
  void answered(time_point sent_at) noexcept;
  bool awaits(const wire::reply_header& header) const noexcept;
  bool covered_by_persistent_watch(const operation& op) const;
  bool watch_in_progress(std::string_view path) const;
  bool remove_unneeded_watch(std::string_view path);
  void forget_session();
  std::int32_t take_xid() noexcept;

  void complete(std::unique_ptr<operation> op, error_code ec);
  void report(session_event::kind k, error_code why = {});
  void count_event(session_event::kind k) noexcept;
  duration connect_wait() const noexcept;

  client_options options_;
  metric_counters* const counters_;  // null if options_.metrics is null
  std::string chroot_;
  host_rotation hosts_;
  endpoint host_;  // the server that is being tried or is connected
  std::string last_failure_;

  phase phase_ = phase::finished;
  command command_;
  time_point phase_deadline_{};  // time to connect (pausing) or to give up (connecting,
                                 // handshaking, closing)

  // The session.
  std::int64_t session_id_ = 0;
  std::string password_;
  std::chrono::milliseconds timeout_;
  std::int64_t last_zxid_ = 0;
  bool read_only_ = false;
  bool session_confirmed_ = false;  // created or confirmed by a server that is not read-only
  session_event::kind ended_ = session_event::kind::closed;

  // The connection.
  std::uint64_t connection_ = 0;
  wire::frame_splitter input_;
  std::string output_;
  std::size_t output_sent_ = 0;
  std::uint64_t stream_sent_ = 0;
  time_point last_send_{};
  time_point last_heard_{};
  // When the client began to wait for bytes from the server. This is the later of two times: when
  // the first unanswered request was sent, and when bytes were last received. If this process was
  // stopped, the wait begins again when the process continues. Not set if all requests were
  // answered.
  std::optional<time_point> reply_awaited_since_;
  time_point last_answered_sent_ = time_point::min();
  std::chrono::milliseconds lease_{0};  // the session timeout when last_answered_sent_ was set
  std::optional<time_point> ping_sent_;
  bool received_on_connection_ = false;  // a message other than the handshake
  // The value that is sent in the handshake. Set to 0 if the server does not confirm it.
  std::int32_t process_binding_ = 0;
  time_point handshake_sent_{};
  std::int32_t next_xid_ = 1;
  std::optional<std::int32_t> close_xid_;

  // Operations.
  std::deque<waiting_operation> waiting_;  // not sent yet
  std::deque<sent_operation> in_flight_;
  // The auth requests in flight, in the order in which they were sent. An entry is null if no
  // operation waits for the reply, because resume() sent the credentials on a new connection.
  std::deque<std::unique_ptr<operation>> auths_in_flight_;
  std::size_t outstanding_bytes_ = 0;
  std::size_t add_watches_in_flight_ = 0;

  watch_registry watches_;
  // The client has received every event up to this zxid. It stays behind last_zxid_ from a lost
  // connection until a server has set all watches again, because the client may have missed events
  // until then.
  std::int64_t watched_zxid_ = 0;
  // The set_watches requests of the current or last connection that the server has not accepted.
  std::size_t set_watches_in_flight_ = 0;
  // ZooKeeper closes the connection if a request is larger than 1 MiB. set_watches has no error
  // reply for that, so the client would reconnect forever.
  std::size_t set_watches_bytes_ = std::size_t{128} * 1024;
  // Paths of persistent watches that no watcher needs. These watches stay on the server, because
  // removing them would also remove other watches of the path.
  std::set<std::string, std::less<>> unneeded_watches_;
  std::vector<notice> notices_;
};

}  // namespace conclave::session
