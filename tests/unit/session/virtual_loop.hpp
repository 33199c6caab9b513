// A session's machine with a simulated clock, network and server.
//
// Runs in one thread. The test accepts and closes connections, answers requests and advances the
// clock. Timers of the machine run exactly at their deadlines.
//
//   virtual_loop loop;
//   loop.attach();
//   const auto got = loop.submit(get("/a"));
//   loop.answer(loop.take_request());
//   EXPECT_TRUE(got->succeeded());
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/machine.hpp"
#include "wire/records.hpp"

namespace conclave::session {

// The completion of an operation.
struct operation_state {
  int completions = 0;
  error_code ec;
  std::int32_t server_error = 0;
  std::string body;  // of the reply, without its header
  std::uint64_t id = 0;

  bool pending() const { return completions == 0; }
  bool succeeded() const { return completions == 1 && !ec; }
  bool failed(error_code with) const { return completions == 1 && ec == with; }
};

// An operation that stores its reply and counts its completions.
class test_operation final : public operation {
 public:
  test_operation(wire::opcode type, on_disconnect rule) : operation{type, rule} {}
  ~test_operation() override;

  bool read_reply(const wire::reply_header& header, wire::reader& body) override;
  void complete(error_code ec) noexcept override;
  error_code verdict(error_code answered) const noexcept override {
    return result && answered == *result ? error_code{} : answered;
  }
  error_code why_refused() const noexcept override {
    return refused_with ? *refused_with : error_code{};
  }

  std::shared_ptr<operation_state> state = std::make_shared<operation_state>();
  bool submitted = false;
  std::optional<errc> result;    // an error that is a result
  bool malformed_reply = false;  // read_reply() returns this
  std::string path;
  std::shared_ptr<error_code> refused_with;  // why_refused() returns this, if it is set
};

using test_operation_ptr = std::unique_ptr<test_operation>;

// Reads are repeated after a connection loss. With a watcher they set a watch.
test_operation_ptr get(std::string_view path, watcher w = {});
test_operation_ptr exists(std::string_view path, watcher w = {});
test_operation_ptr children(std::string_view path, watcher w = {});
test_operation_ptr add_watch(std::string_view path, watch_mode mode, watcher w);
// The outcome of a write is unknown after a connection loss.
test_operation_ptr set(std::string_view path, std::string_view data = "data");
// A connection loss completes the operation like a reply.
test_operation_ptr remove_watches(std::string_view path);
test_operation_ptr add_auth(std::string_view scheme, std::string_view auth);

// A request as the server sees it.
struct request {
  std::int32_t xid = 0;
  wire::opcode type{};
  std::string body;
  std::string path() const;  // valid if the body begins with a path
};

struct handshake {
  std::int32_t protocol_version = 0;
  std::int64_t last_zxid_seen = 0;
  std::int32_t timeout_ms = 0;
  std::int64_t session_id = 0;
  std::string password;
  std::optional<bool> read_only;
};

inline constexpr std::int64_t first_session = 0x1234;

// A session timeout of 9 s: pings after 3 s, and the connection is lost after 6 s of silence.
client_options nine_seconds();

class virtual_loop {
 public:
  explicit virtual_loop(const client_options& options = nine_seconds(),
                        std::string_view where = "one:1,two:2", std::uint64_t shuffle_seed = 0);
  // Closes the client without an answer and checks that all operations complete.
  ~virtual_loop();
  virtual_loop(const virtual_loop&) = delete;
  virtual_loop& operator=(const virtual_loop&) = delete;

  // --- the user

  std::shared_ptr<operation_state> submit(test_operation_ptr op);
  error_code refused(test_operation_ptr op);  // the error of submit()
  void cancel(const std::shared_ptr<operation_state>& op);
  void close();
  // A watcher that writes "NAME KIND PATH" into the journal.
  watcher journal_watcher(std::string name);

  // --- the network

  bool is_connecting() const { return requested_.has_value(); }
  std::string requested_host() const { return requested_ ? to_string(*requested_) : std::string{}; }
  bool connected() const { return connected_; }
  std::size_t connections() const { return connections_; }  // accepted so far
  // Accepts the requested connection, after the delay if there is one. The machine then sends its
  // handshake.
  void accept();
  void refuse();  // refuses the requested connection
  void lose_connection();
  // The number of bytes that the socket still accepts. Without an argument: no limit.
  void limit_socket(std::optional<std::size_t> bytes = {});

  // --- the server

  const handshake& last_handshake() const { return handshake_; }
  void accept_session(std::int64_t session_id = first_session, std::int32_t timeout_ms = 9000,
                      std::optional<bool> read_only = false);
  void refuse_session() { accept_session(0, 0); }
  void attach() { accept(), accept_session(); }

  bool has_request() const { return !requests_.empty(); }
  request take_request();                // fails the test if there is none
  std::vector<std::string> take_list();  // the types and paths of all requests
  template <class... Body>
  void answer(const request& r, const Body&... body) {
    send_frame(wire::reply_header{r.xid, ++zxid_, 0}, body...);
  }
  void answer_error(const request& r, errc e);
  void answer_all();
  void event(watch_event::kind type, std::string_view path);
  void event(std::int32_t type, std::string_view path);
  template <class... Parts>
  void send_frame(const Parts&... parts) {
    std::string bytes;
    wire::append_frame(bytes, parts...);
    deliver(bytes);
  }
  void deliver(std::string_view bytes);
  std::int64_t zxid() const { return zxid_; }

  // --- time

  time_point now() const { return now_; }
  void advance(duration d);
  // Simulates a stopped process: no timer runs until the end of that time.
  void stop_for(duration d);
  // The same, but another thread runs before the timers.
  void stop_without_a_timer(duration d) { now_ += d; }
  // The time since the start.
  std::chrono::milliseconds clock() const;

  // The delivered events in order: "connected", "done set /a: connection_loss", ...
  std::vector<std::string> take_journal() { return std::exchange(journal_, {}); }
  // The machine's commands to the network in order: "connect one:1", "disconnect".
  std::vector<std::string> take_commands() { return std::exchange(commands_, {}); }
  const std::vector<session_event>& events() const { return events_; }
  const std::vector<log_line>& log() const { return log_; }
  // The number of discarded watchers.
  int discarded() const { return discarded_; }
  std::size_t received_bytes() const { return received_bytes_; }
  session::machine& machine() { return machine_; }

  // Handles the output of the machine: commands, bytes and notices.
  void pump();

 private:
  void read_stream();
  void deliver_notice(notice n);
  void close_connection();

  time_point now_{std::chrono::hours{1}};
  session::machine machine_;
  std::optional<endpoint> requested_;
  bool connected_ = false;
  std::size_t connections_ = 0;
  bool handshake_received_ = false;
  std::optional<std::size_t> socket_capacity_;
  std::string stream_;  // an incomplete frame from the client
  std::size_t received_bytes_ = 0;
  handshake handshake_;
  std::deque<request> requests_;
  std::int64_t zxid_ = 100;
  std::vector<std::string> journal_;
  std::vector<std::string> commands_;
  std::vector<session_event> events_;
  std::vector<log_line> log_;
  int discarded_ = 0;
};

}  // namespace conclave::session
