// One client: a session's machine, the recipes' port on it, and the link to the server with all
// that can befall it.
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
enum class happening { to_server, to_client, connect, client_timer, server_timer, call };

inline error_code connection_reset() { return {ECONNRESET, boost::system::system_category()}; }

enum class direction { up, down };  // up: to the server

// How a connection ends.
struct cut_style {
  // What is on its way to the server still gets there; what is on its way back never does.
  bool requests_arrive = false;
  // The client sees the end before it has acted on what came last.
  bool before_notices = false;
};
inline constexpr cut_style cut_styles[] = {
    {false, false}, {false, true}, {true, false}, {true, true}};

// What went over a client's links, handshakes and pings not counted.
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
  bool attached() const { return machine_.state() == session_state::connected; }
  const simulated::traffic& traffic() const noexcept { return traffic_; }
  void close();
  // What its recipes have left in its session, one line for each: nothing, when they are done.
  std::vector<std::string> left_behind() const;

  // --- what can befall it

  void cut(cut_style how = {});
  // Of the next request of that kind: it is lost, or only its answer; then the link is cut.
  void swallow_request(wire::opcode type, cut_style how = {});
  void swallow_reply(wire::opcode type, cut_style how = {});
  // The next request of that kind is done, and answered with this error.
  void falsify_reply(wire::opcode type, errc answer);
  // Behind the n-th frame, or the n-th byte, from now on.
  void cut_after_frames(direction d, std::size_t n, cut_style how = {});
  void cut_after_bytes(direction d, std::size_t n, cut_style how = {});
  bool fault_pending() const noexcept { return fault_.has_value(); }
  void forget_fault() { fault_.reset(); }
  // Nobody answers when it connects.
  void refuse_connections(bool yes) noexcept { refused_ = yes; }
  // Nothing moves on its link, nor gets lost: in either direction, or only to it.
  void stall(bool yes, bool only_down = false);
  // The socket accepts only so many more frames. The others wait in the client: they were never
  // sent if the link is cut meanwhile.
  void limit_writes(std::size_t frames);
  void end_write_limit();
  // The process does not run: what is due waits for it.
  void pause();
  void resume();
  bool paused() const noexcept { return paused_; }
  // It is paused, or has been until this very moment, and so cannot have acted.
  bool stood_still() const;
  // When it last was paused or stalled: what it does then may be about what was long before.
  instant slept_until() const;
  // Until when it may act on what it knew at that time: it has a moment for it, and its sleep.
  instant ignorant_until(instant then, instant moment) const;
  // The process is gone. What it has sent arrives, or not; its session lives on for a while.
  void kill(bool requests_arrive);
  bool killed() const noexcept { return killed_; }
  // When its connection was last answered.
  instant attached_since() const noexcept { return attached_since_; }

  // --- the recipes' port

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
  // Sends, connects and tells until there is nothing left to do.
  void pump();
  void connection_attempt(std::uint64_t attempt);
  void arrive_up(std::uint64_t link);
  void arrive_down(std::uint64_t link);
  void timer(std::uint64_t which);
  void from_server(server::connection_id id, std::string bytes, bool last);
  void server_stopped();
  void thrown_out(std::size_t door);
  // Whatever it waits for is told it, although it is paused or was killed.
  void come_to_an_end();
  // Keeps an event for later, if it cannot have it now.
  bool postpones(happening kind, std::uint64_t which);

 protected:
  void wake_at(recipes::time_point when) override;

 private:
  struct packet {
    std::string bytes;
    bool last = false;
  };
  struct link {
    server::connection_id id = 0;
    std::size_t door = 0;
    std::deque<packet> up, down;
    instant last_up{0}, last_down{0};  // arrivals do not overtake one another
    bool open_here = true;             // the client's end
    bool open_there = true;            // the server's
    // Whether the handshake was sent, has arrived; was answered, and that counted.
    bool greeted_up = false, greeted_there = false, greeted_down = false, welcomed = false;
    bool greeted_back = false;  // for the trace only
    wire::frame_splitter in_up{std::size_t{1} << 24};
    std::optional<std::int32_t> marked;  // the request whose answer never comes, or another
  };
  struct fault {
    enum class kind { request, reply, falsify, frames, bytes } what;
    direction way = direction::up;
    wire::opcode type{};
    std::size_t left = 0;
    cut_style how;
    errc answer{};
  };

  link* find(std::uint64_t id);
  link* current();
  void flush();
  std::string_view accepted_output();
  void send(link& l, direction d, packet p);
  void apply(const session::machine::command& command);
  void hand_out(session::notice& n);
  void close_here(link& l);
  void close_there(link& l);
  void end_link(link& l, cut_style how);
  void count_up(link& l, std::string_view bytes);
  void count_down(link& l, std::string_view frame, std::int32_t xid);
  void let_go();
  // How much of it gets through before a fault strikes; then the fault is over.
  std::optional<cut_style> strike(link& l, direction d, std::string& bytes);
  void plan_timer();
  bool asleep() const noexcept { return paused_ || stalled_ || frames_accepted_; }
  void note_sleep();
  void attention();
  // Its own clock has no more to do with the world's than its pace.
  recipes::time_point own_time(instant t) const;
  instant world_time(recipes::time_point t) const;

  world& world_;
  std::size_t index_;
  std::int64_t pace_;  // in thousandths of the world's
  std::size_t door_ = 0;
  std::mt19937_64 random_;
  session::machine machine_;
  std::map<std::uint64_t, link> links_;
  std::uint64_t current_ = 0;  // the link in use
  std::uint64_t attempt_ = 0;  // to connect
  bool connecting_ = false;
  int corks_ = 0;
  bool pumping_ = false;
  bool listed_ = false;  // among those that need attention
  std::vector<std::unique_ptr<session::operation>> refused_operations_;
  std::vector<error_code> refusals_;
  recipes::time_point wake_ = recipes::time_point::max();
  instant timer_ = instant::max();

  simulated::traffic traffic_;
  std::optional<fault> fault_;
  bool refused_ = false;
  bool stalled_ = false;
  bool only_down_ = false;
  std::optional<std::size_t> frames_accepted_;  // by the socket; see limit_writes()
  bool paused_ = false;
  bool killed_ = false;
  std::optional<instant> resumed_;
  struct sleep {
    instant from, until;
  };
  std::vector<sleep> sleeps_;
  instant attached_since_{0};
  bool end_unseen_ = false;  // the link ended while it was paused
  std::vector<std::pair<happening, std::uint64_t>> postponed_;
};

}  // namespace conclave::simulated
