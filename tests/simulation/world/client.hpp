// A simulated client process: a session machine, the session_context for its recipes, and the
// connections to the server, with faults.
#pragma once

#include <cerrno>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "recipes/session_context.hpp"
#include "session/machine.hpp"
#include "simulation/world/server.hpp"

namespace conclave::simulated {

class world;
struct world_options;
enum class event_kind { to_server, to_client, connect, client_timer, server_timer, call };

inline error_code connection_reset() { return {ECONNRESET, boost::system::system_category()}; }

enum class direction { up, down };  // up: to the server

// How a connection is lost.
struct disconnect_style {
  // Requests in flight still reach the server. Replies in flight never arrive.
  bool requests_arrive = false;
  // The client sees the disconnect before it handles the messages that arrived last.
  bool before_notices = false;
};
inline constexpr disconnect_style disconnect_styles[] = {
    {false, false}, {false, true}, {true, false}, {true, true}};

// The messages of a client, without handshakes and pings.
struct traffic {
  std::map<wire::opcode, int> requests;
  int packets = 0;  // writes of the client
  int answers = 0;
  int events = 0;
  std::size_t bytes_up = 0;
  std::size_t bytes_down = 0;

  int of(wire::opcode type) const;
  int all() const;
  traffic operator-(const traffic& before) const;
};
std::string to_string(const traffic& t);

class client final : public recipes::session_context, public std::enable_shared_from_this<client> {
 public:
  client(world& w, std::size_t index, const world_options& options, std::uint64_t seed);
  ~client() override;

  std::size_t index() const noexcept { return index_; }
  std::string name() const { return "client " + std::to_string(index_ + 1); }
  session::machine& machine() noexcept { return machine_; }
  bool is_connected() const { return machine_.state() == session_state::connected; }
  const simulated::traffic& traffic() const noexcept { return traffic_; }
  void close();
  // What the recipes have not cleaned up in the session, one line each. Empty if all are done.
  std::vector<std::string> leftovers() const;

  // --- faults

  void disconnect(disconnect_style how = {});
  // Drops the next request of this type, or only its reply, and then disconnects.
  void drop_request(wire::opcode type, disconnect_style how = {});
  void drop_reply(wire::opcode type, disconnect_style how = {});
  // Executes the next request of this type, but replaces its reply with this error.
  void replace_reply(wire::opcode type, errc answer);
  // Disconnects after n more frames or bytes.
  void disconnect_after_frames(direction d, std::size_t n, disconnect_style how = {});
  void disconnect_after_bytes(direction d, std::size_t n, disconnect_style how = {});
  bool fault_pending() const noexcept { return fault_.has_value(); }
  void forget_fault() { fault_.reset(); }
  // The server closes the connection when it receives a larger request.
  void limit_requests(std::size_t bytes);
  // Refuses new connections of this client.
  void refuse_connections(bool yes) noexcept { refused_ = yes; }
  // Delays all messages until the stall ends, in both directions or only to the client. No message
  // is lost.
  void stall(bool yes, bool only_down = false);
  // The socket accepts only this many more frames. The others stay in the client. If the connection
  // is lost, they were never sent.
  void limit_writes(std::size_t frames);
  void end_write_limit();
  // Stops the process, as SIGSTOP does. Its events are postponed until resume().
  void pause();
  void resume();
  bool paused() const noexcept { return paused_; }
  // True if the process is paused or was resumed at this moment, so it cannot have reacted yet.
  bool paused_until_now() const;
  // The end of the last pause, stall or write limit. Until then, the client may act on outdated
  // information.
  instant inactive_until() const;
  // The time until which the client may not know what happened at `then`. It needs `moment` to
  // react. Pauses, stalls and write limits extend this time.
  instant may_be_unaware_until(instant then, instant moment) const;
  // Kills the process, as SIGKILL does. Its session lives until it expires.
  void kill(bool requests_arrive);
  bool killed() const noexcept { return killed_; }
  // The time of the last successful handshake.
  instant connected_since() const noexcept { return connected_since_; }
  // True if the recipes were notified that the connection is lost.
  bool suspension_reported() const noexcept { return suspension_reported_; }

  // --- session_context

  void submit(std::unique_ptr<session::operation> op) override;
  void forget_watch(const std::string& path, watch_kind kind, const watcher& w) override;
  void cork() override { ++corks_; }
  void uncork() override;
  session_view session() const override;
  recipes::time_point now() const override;
  std::shared_ptr<const recipes::session_clock> clock() const override {
    return shared_from_this();
  }
  std::uint64_t random() override { return random_(); }

  // --- for the world

  void start();
  // Sends, connects and runs handlers until nothing is left to do.
  void pump();
  void connection_attempt(std::uint64_t attempt);
  void arrive_up(std::uint64_t link);
  void arrive_down(std::uint64_t link);
  void timer(std::uint64_t which);
  void from_server(server::connection_id id, std::string bytes, bool last);
  void server_stopped();
  void address_blocked(std::size_t address);
  // Lets pending operations complete although the client is paused or killed.
  void prepare_to_finish();
  // Returns true if the client cannot handle the event now. The event is then postponed, or dropped
  // if the client was killed.
  bool postpone(event_kind kind, std::uint64_t which);

 protected:
  void wake_at(recipes::time_point when) override;

 private:
  struct packet {
    std::string bytes;
    bool last = false;
  };
  struct link {
    server::connection_id id = 0;
    std::size_t address = 0;
    std::deque<packet> up, down;
    instant last_up{0}, last_down{0};  // messages keep their order
    bool open_at_client = true;        // on the client's side
    bool open_at_server = true;        // on the server's side
    bool handshake_sent = false, handshake_arrived = false, handshake_reply_arrived = false,
         handshake_reply_counted = false;
    bool handshake_reply_traced = false;  // for the trace only
    wire::frame_splitter in_up{0};        // connection_attempt() sets the limit
    std::optional<std::int32_t>
        marked;  // the xid of the request whose reply is dropped or replaced
  };
  struct fault {
    enum class kind { request, reply, replaced_reply, frames, bytes } what;
    direction way = direction::up;
    wire::opcode type{};
    std::size_t left = 0;
    disconnect_style how;
    errc answer{};
  };

  link* find(std::uint64_t id);
  link* current();
  void flush();
  std::string_view accepted_output();
  void send(link& l, direction d, packet p);
  void apply(const session::machine::command& command);
  void dispatch(session::notice& n);
  void close_at_client(link& l);
  void close_at_server(link& l);
  void end_link(link& l, disconnect_style how);
  void count_up(link& l, std::string_view bytes);
  void count_down(link& l, std::string_view frame, std::int32_t xid);
  void deliver_postponed();
  // Truncates `bytes` to the part that arrives before the fault. Returns how to disconnect, if the
  // fault happens now. A fault happens once.
  std::optional<disconnect_style> apply_fault(link& l, direction d, std::string& bytes);
  void schedule_timer();
  bool is_inactive() const noexcept { return paused_ || stalled_ || frames_accepted_; }
  void note_inactivity();
  void request_pump();
  // The client's clock runs at its own rate.
  recipes::time_point own_time(instant t) const;
  instant world_time(recipes::time_point t) const;

  world& world_;
  std::size_t index_;
  std::int64_t clock_rate_;  // in thousandths of the world's clock
  std::size_t address_ = 0;
  std::mt19937_64 random_;
  session::machine machine_;
  std::map<std::uint64_t, link> links_;
  std::uint64_t current_ = 0;  // the id of the link in use
  std::uint64_t attempt_ = 0;  // the number of the last connection attempt
  bool connecting_ = false;
  int corks_ = 0;
  bool pumping_ = false;
  bool pump_requested_ = false;  // in world::pending_clients_
  std::vector<std::unique_ptr<session::operation>> refused_operations_;
  std::vector<error_code> refusals_;
  recipes::time_point wake_ = recipes::time_point::max();
  instant timer_ = instant::max();

  simulated::traffic traffic_;
  std::optional<fault> fault_;
  std::size_t accepted_bytes_ = std::size_t{1} << 24;  // see limit_requests()
  bool refused_ = false;
  bool stalled_ = false;
  bool only_down_ = false;
  std::optional<std::size_t> frames_accepted_;  // see limit_writes()
  bool paused_ = false;
  bool killed_ = false;
  std::optional<instant> resumed_;
  struct inactive_period {
    instant from, until;
  };
  std::vector<inactive_period> inactive_periods_;
  instant connected_since_{0};
  bool suspension_reported_ = false;
  bool end_unseen_ = false;  // the connection was lost while the client was paused
  std::vector<std::pair<event_kind, std::uint64_t>> postponed_;
};

}  // namespace conclave::simulated
