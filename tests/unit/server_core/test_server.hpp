// The server's core with a clock, clients and a disk that exist only in the test.
//
// One thread; nothing happens unless the test says so. A turn is what the core's header says it is:
// requests, expiry, commit, and only then do the clients see anything.
//
//   test_server server;
//   auto& a = server.join();
//   EXPECT_EQ(a.ask(create("/x")), ok);                    a turn of its own
//   server.turn([&] { a.send(set("/x", "1")), b.send(get("/x")); });
//   EXPECT_EQ(b.take(), ok);
//
// On the way it checks what must always hold: frames are well-formed, every request is answered
// once and in order, zxids do not go back, batches fit what is stored, deadlines lie ahead.
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

// What a request brought. Of the fields those count that its answer has.
struct outcome {
  errc error{};
  std::int64_t zxid = 0;  // of the reply's header
  std::string path;
  std::optional<std::string> data;
  node_stat stat;
  std::vector<std::string> names;
  server_impl::acl acl;  // also who_am_i's identities
  std::int32_t number = 0;
  std::vector<outcome> parts;  // of a multi
  wire::opcode answered_as{};  // a part's own header
  std::size_t body_size = 0;

  friend bool operator==(const outcome& o, errc e) { return o.error == e; }
};
std::ostream& operator<<(std::ostream& out, const outcome& o);

// A request that the core did not answer: the connection was closed.
inline constexpr auto unanswered = errc::connection_loss;

class test_server;

// One connection, as its client sees it.
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

  // Sends, and reads the answer when the turn is over.
  outcome ask(const request& r);
  void send(const request& r);
  void send_bytes(std::string_view payload);  // of a frame
  // The next answer that was not read yet.
  outcome next_reply();
  std::size_t unread_replies() const { return answers_.size(); }

  // --- what arrived

  // Events as "created /a", "removed /a", "changed /a", "children /a"; others are forgotten.
  lines take_events();
  // Events and answers ("answer 3") in order.
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

// Timeouts from 4 to 40 s, and a generator of random numbers that starts from a seed.
core_options default_options();

// A Unix socket; clients agree to its binding.
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
    std::optional<bool> read_only = false;        // nothing: an old client, which does not send it
    std::optional<std::int32_t> process_binding;  // without it: the connection's
  };
  // A connection on which nothing was said yet.
  client& connect(peer from = {"127.0.0.1", 0});
  void handshake(client& c, const connect_parameters& h);
  // Connected and greeted.
  client& open_session(std::chrono::milliseconds timeout = 10s, peer from = {"127.0.0.1", 0});
  client& open_local_session(std::chrono::milliseconds timeout = 10s) {
    return open_session(timeout, from_socket);
  }
  // The session goes on, on a new connection.
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
  // An idle owner: it looks when the core wants it to, and at the end.
  void pass(std::chrono::milliseconds d);
  // The owner does not run at all for that long.
  void stall(std::chrono::milliseconds d);
  void set_wall_clock(std::int64_t ms) { wall_offset_ = ms - elapsed().count(); }
  time_point now() const { return now_; }
  std::int64_t wall_ms() const { return wall_offset_ + elapsed().count(); }

  // --- the disk

  // A new core from what is stored. In the middle of a turn: what was not committed is lost.
  void crash();
  const stored_rows& stored() const { return stored_; }
  // As if something else had happened before; to be followed by a crash.
  stored_rows& disk() { return stored_; }
  int commits() const { return commits_; }
  // The nodes of the last commit: "-" and paths that went, paths of rows, "+" and paths of
  // children rows.
  const lines& last_batch() const { return last_batch_; }

  server_impl::core& core() { return *core_; }
  bool is_alive(std::int64_t session) { return core_->sessions().all().contains(session); }
  // All that ever came out, to be compared with another run.
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
  std::int64_t highest_zxid_ = 0;  // that anyone was told
  std::string transcript_;
};

}  // namespace server_impl
}  // namespace conclave
