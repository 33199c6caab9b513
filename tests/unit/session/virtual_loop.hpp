// A session's machine with a clock, a network and a server that exist only in the test.
//
// One thread; nothing happens unless the test says so: it accepts connections, answers requests,
// cuts links and lets time pass. What the machine does with its deadlines it does at exactly those
// times.
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

// What became of an operation.
struct fate {
  int completions = 0;
  error_code ec;
  std::int32_t server_error = 0;
  std::string body;  // the answer's, without its header
  std::uint64_t id = 0;

  bool pending() const { return completions == 0; }
  bool succeeded() const { return completions == 1 && !ec; }
  bool failed(error_code with) const { return completions == 1 && ec == with; }
};

// An operation that keeps its answer and counts its completions.
class test_operation final : public operation {
 public:
  test_operation(wire::opcode type, on_disconnect rule) : operation{type, rule} {}
  ~test_operation() override;

  bool read_reply(const wire::reply_header& header, wire::reader& body) override;
  void complete(error_code ec) noexcept override;
  error_code verdict(error_code answered) const noexcept override {
    return result && answered == *result ? error_code{} : answered;
  }

  std::shared_ptr<fate> told = std::make_shared<fate>();
  bool submitted = false;
  std::optional<errc> result;    // an error that is a result
  bool malformed_reply = false;  // read_reply() says so
  std::string path;
};

using test_operation_ptr = std::unique_ptr<test_operation>;

// Reads, repeated after a cut. With a watcher they leave a watch.
test_operation_ptr get(std::string_view path, watcher w = {});
test_operation_ptr exists(std::string_view path, watcher w = {});
test_operation_ptr children(std::string_view path, watcher w = {});
test_operation_ptr add_watch(std::string_view path, watch_mode mode, watcher w);
// Writes, whose outcome a cut leaves unknown.
test_operation_ptr set(std::string_view path, std::string_view data = "data");
// Done by a cut as well as by an answer.
test_operation_ptr remove_watches(std::string_view path);
test_operation_ptr add_auth(std::string_view scheme, std::string_view auth);

// A request as the server sees it.
struct request {
  std::int32_t xid = 0;
  wire::opcode type{};
  std::string body;
  std::string path() const;  // where the body begins with one
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

// Short enough to read: pings after 3 s, silence for 6 s is a lost connection.
client_options nine_seconds();

class virtual_loop {
 public:
  explicit virtual_loop(const client_options& options = nine_seconds(),
                        std::string_view where = "one:1,two:2", std::uint64_t shuffle_seed = 0);
  // Closes the client, waits in vain, and so sees that whatever is left completes.
  ~virtual_loop();
  virtual_loop(const virtual_loop&) = delete;
  virtual_loop& operator=(const virtual_loop&) = delete;

  // --- the user

  std::shared_ptr<fate> submit(test_operation_ptr op);
  error_code refused(test_operation_ptr op);  // submit() must say why not
  void cancel(const std::shared_ptr<fate>& op);
  void close();
  // A watcher that writes "NAME KIND PATH" into the journal.
  watcher journal_watcher(std::string name);

  // --- the network

  // Whether the machine is waiting for a connection, and to whom.
  bool wants_connection() const { return wanted_.has_value(); }
  std::string wanted_host() const { return wanted_ ? to_string(*wanted_) : std::string{}; }
  bool connected() const { return connected_; }
  std::size_t connections() const { return connections_; }  // accepted so far
  // The connection that is wanted, now or after a pause; the handshake is sent.
  void accept();
  void refuse();  // it
  void cut();
  // How many bytes the socket takes from now on; without a number: all.
  void socket_takes(std::optional<std::size_t> bytes = {});

  // --- the server

  const handshake& greeting() const { return greeting_; }
  void welcome(std::int64_t session_id = first_session, std::int32_t timeout_ms = 9000,
               std::optional<bool> read_only = false);
  void refuse_session() { welcome(0, 0); }
  void attach() { accept(), welcome(); }

  bool has_request() const { return !requests_.empty(); }
  request take_request();                // a test failure if there is none
  std::vector<std::string> take_list();  // the types (and paths) of all of them
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
  // As for a process that was stopped: the machine learns of the time only afterwards.
  void stop_for(duration d);
  // The same, but another thread runs before the one with the timer.
  void stop_without_a_timer(duration d) { now_ += d; }
  // Since the beginning.
  std::chrono::milliseconds clock() const;

  // Everything that was delivered, in order, as "connected", "done set /a: connection_loss", ...
  std::vector<std::string> take_journal() { return std::exchange(journal_, {}); }
  // What was asked of the network, in order: "connect one:1", "disconnect".
  std::vector<std::string> take_wishes() { return std::exchange(wishes_, {}); }
  const std::vector<session_event>& events() const { return events_; }
  const std::vector<log_line>& log() const { return log_; }
  // Notices of watchers that nobody needs any more.
  int discarded() const { return discarded_; }
  std::size_t received_bytes() const { return received_bytes_; }
  session::machine& machine() { return machine_; }

  // Everything after a call of the machine: commands, bytes, notices.
  void pump();

 private:
  void read_stream();
  void deliver_notice(notice n);
  void close_connection();

  time_point now_{std::chrono::hours{1}};
  session::machine machine_;
  std::optional<endpoint> wanted_;
  bool connected_ = false;
  std::size_t connections_ = 0;
  bool greeted_ = false;
  std::optional<std::size_t> socket_room_;
  std::string stream_;  // from the client, not yet a whole frame
  std::size_t received_bytes_ = 0;
  handshake greeting_;
  std::deque<request> requests_;
  std::int64_t zxid_ = 100;
  std::vector<std::string> journal_;
  std::vector<std::string> wishes_;
  std::vector<session_event> events_;
  std::vector<log_line> log_;
  int discarded_ = 0;
};

}  // namespace conclave::session
