// The server's core with a simulated clock, clients and disk.
//
// Runs in one thread, and only when the test calls it. A turn is defined in the core's header:
// requests, expiry, commit, and then the output to the clients.
//
//   test_server server;
//   auto& a = server.open_session();
//   EXPECT_EQ(a.ask(create("/x")), ok);                    its own turn
//   server.turn([&] { a.send(set("/x", "1")), b.send(get("/x")); });
//   EXPECT_EQ(b.next_reply(), ok);
//
// It also checks the invariants: frames are well-formed, every request is answered once and in
// order, zxids do not decrease, batches match the stored rows, and deadlines are in the future.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "requests.hpp"
#include "server/core/core.hpp"
#include "stored_rows.hpp"
#include "wire/frame.hpp"

namespace conclave {

std::ostream& operator<<(std::ostream& out, errc e);

namespace server_impl {

using namespace std::chrono_literals;
using lines = std::vector<std::string>;

inline constexpr errc ok{};

// The reply to a request. Only the fields that the reply contains are set.
struct outcome {
  errc error{};
  std::int64_t zxid = 0;  // of the reply's header
  std::string path;
  std::optional<std::string> data;
  node_stat stat;
  std::vector<std::string> names;
  server_impl::acl acl;  // or the identities of who_am_i
  std::int32_t number = 0;
  std::vector<outcome> parts;  // of a multi
  wire::opcode answered_as{};  // the type in the header of a part
  std::size_t body_size = 0;

  friend bool operator==(const outcome& o, errc e) { return o.error == e; }
};
std::ostream& operator<<(std::ostream& out, const outcome& o);

// The core closed the connection without a reply.
inline constexpr auto unanswered = errc::connection_loss;

class test_server;

// The client's side of one connection.
class client {
 public:
  struct handshake_result {
    std::int32_t timeout_ms = 0;
    std::int64_t session = 0;
    std::string password;
    std::optional<bool> read_only;
    std::int32_t process_binding = 0;
  };

  // --- requests

  // Sends the request and reads the reply after the turn.
  outcome ask(const request& r);
  void send(const request& r);
  void send_bytes(std::string_view payload);  // sends one frame
  // Returns the next unread reply.
  outcome next_reply();
  std::size_t unread_replies() const { return answers_.size(); }

  // --- output of the server

  // Returns the events, like "created /a", "removed /a", "changed /a" and "children /a", and
  // discards the replies in the journal.
  lines take_events();
  // Returns events and replies ("answer 3") in order.
  lines take_journal() { return std::exchange(journal_, {}); }
  const std::optional<handshake_result>& handshake() const { return handshake_; }
  bool closed() const { return closed_; }
  std::int64_t last_zxid() const { return last_zxid_; }

  std::int64_t session() const { return handshake_ ? handshake_->session : 0; }
  connection_id id() const { return id_; }
  void disconnect();

 private:
  friend class test_server;
  client(test_server& server, connection_id id, std::int32_t process_binding)
      : server_{server}, id_{id}, process_binding_{process_binding} {}
  void receive(std::string_view frame);
  void close();

  test_server& server_;
  connection_id id_;
  std::int32_t process_binding_;
  bool closed_ = false;
  std::optional<handshake_result> handshake_;
  std::deque<std::pair<std::int32_t, wire::opcode>> asked_;
  std::deque<outcome> answers_;
  lines journal_;
  std::int32_t xid_ = 0;
  std::int64_t last_zxid_ = 0;
};

// Timeouts from 4 to 40 s.
core_options default_options();

// A Unix socket. Clients use its process binding.
inline const peer from_socket{"", 4711};

class test_server {
 public:
  explicit test_server(core_options options = default_options(), std::uint64_t seed = 1);
  test_server(const test_server&) = delete;
  test_server& operator=(const test_server&) = delete;

  // --- connections

  struct connect_parameters {
    std::chrono::milliseconds timeout{10s};
    std::int64_t seen_zxid = 0;
    std::int64_t session = 0;
    std::string password = std::string(16, '\0');
    std::optional<bool> read_only = false;        // empty: an old client that does not send it
    std::optional<std::int32_t> process_binding;  // default: the binding of the connection
  };
  // A connection without a handshake.
  client& connect(peer from = {"127.0.0.1", 0});
  void handshake(client& c, const connect_parameters& h);
  // A connection with a new session.
  client& open_session(std::chrono::milliseconds timeout = 10s, peer from = {"127.0.0.1", 0});
  client& open_local_session(std::chrono::milliseconds timeout = 10s) {
    return open_session(timeout, from_socket);
  }
  // Continues the session on a new connection.
  client& reconnect(const client& before, std::chrono::milliseconds timeout = 10s,
                    peer from = {"127.0.0.1", 0});

  // --- turns and time

  template <class F>
  void turn(F f) {
    begin();
    f();
    end();
  }
  void turn() {
    turn([] {});
  }
  bool in_turn() const { return in_turn_; }
  void begin();
  void end();
  // Advances the clock. Runs a turn at each deadline of the core and at the end.
  void pass(std::chrono::milliseconds d);
  // Advances the clock without running the core.
  void stall(std::chrono::milliseconds d);
  void set_wall_clock(std::int64_t ms) { wall_offset_ = ms - elapsed().count(); }
  time_point now() const { return now_; }
  std::int64_t wall_ms() const { return wall_offset_ + elapsed().count(); }

  // --- the disk

  // Starts a new core from the stored rows. During a turn, uncommitted changes are lost.
  void crash();
  const stored_rows& stored() const { return stored_; }
  // For changes by the test. They take effect after crash().
  stored_rows& disk() { return stored_; }
  int commits() const { return commits_; }
  // The nodes of the last commit: "-" and the paths of removed nodes, the paths of written rows,
  // "+" and the paths of written children rows.
  const lines& last_batch() const { return last_batch_; }

  server_impl::core& core() { return *core_; }
  bool is_alive(std::int64_t session) { return core_->sessions().all().contains(session); }
  // The whole output, for comparison with another run.
  const std::string& transcript() const { return transcript_; }

 private:
  friend class client;
  std::chrono::milliseconds elapsed() const;
  void commit();
  void deliver();

  core_options options_;
  std::mt19937_64 random_;
  time_point now_{1h};
  std::int64_t wall_offset_ = 1'600'000'000'000;
  stored_rows stored_;
  std::unique_ptr<server_impl::core> core_;
  std::map<connection_id, std::unique_ptr<client>> clients_;
  connection_id last_id_ = 0;
  bool in_turn_ = false;
  int commits_ = 0;
  lines last_batch_;
  std::int64_t highest_zxid_ = 0;  // sent to a client
  std::string transcript_;
};

}  // namespace server_impl
}  // namespace conclave
