// Clients, a network and the server in one thread on a virtual clock: the same seed, the same
// history.
//
// Each client is a session's machine with a port for recipes on it; the server is the embedded
// one's core. What happens next is the earliest event of the queue, and what happens at one moment
// happens in the order in which it was begun.
//
//   world w{{.clients = 2}};
//   w.run_until([&] { return w.client(0).attached(); });
//   w.client(0).swallow_reply(wire::opcode::create2);
//   ...
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "simulation/world/client.hpp"
#include "simulation/world/server.hpp"
#include "simulation/world/storage.hpp"

namespace conclave::simulated {

struct world_options {
  std::uint64_t seed = 1;
  std::size_t clients = 1;
  // So long that the end of a session cannot hide a node that was left behind.
  std::chrono::milliseconds session_timeout{600'000};
  std::chrono::milliseconds connect_wait{0};
  bool renew_expired = true;
  // Of a packet in one direction, drawn between these.
  std::chrono::microseconds least_delay{1000};
  std::chrono::microseconds most_delay{1000};
  // Names under which clients know the server. One may be out of reach while another is not.
  std::size_t doors = 1;
  // How much faster or slower than the server's a client's clock may run, in thousandths.
  int drift = 0;
  server_impl::core_options server = long_lived();
  // None: a map.
  std::function<std::unique_ptr<storage>()> disk = {};

  static server_impl::core_options long_lived() {
    server_impl::core_options o;
    o.max_session_timeout = std::chrono::hours{1};
    return o;
  }
};

class world {
 public:
  explicit world(const world_options& options = {});
  ~world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  instant now() const noexcept { return now_; }
  simulated::client& client(std::size_t i) { return *clients_[i]; }
  std::size_t clients() const noexcept { return clients_.size(); }
  // Comes at once; further ones may join at any time.
  simulated::client& add_client();
  simulated::server& server() noexcept { return server_; }
  // Reaches into the tree, and may do anything.
  hand& by_hand() noexcept { return hand_; }

  // --- time

  // One event; false if there was none up to then.
  bool step(instant limit = instant::max());
  void advance(instant d);
  // False if it did not come about within that time.
  bool run_until(const std::function<bool()>& done, instant within = std::chrono::minutes{10});
  bool attach_all();
  // Nothing happens any more; whatever is under way completes, and lets go of the client that it
  // keeps.
  void finish();
  // Calls it then; for whoever acts in a history.
  void after(instant d, std::function<void()> f);

  // --- faults of the server; those of one client's link are the client's

  // Everybody's connection ends; nobody can connect until it is started.
  void stop_server();
  void start_server();
  // It stops in the middle of what it stores next.
  void fail_in_next_commit(std::uint64_t seed) {
    if (server_.up()) server_.crash_in_next_commit(seed);
  }
  void forget_commit_fault() { server_.forget_commit_fault(); }
  // What comes by this name is refused, and whoever is there is thrown out.
  void close_door(std::size_t door);
  void open_door(std::size_t door) { closed_[door] = false; }
  bool door_open(std::size_t door) const { return !closed_[door]; }
  std::size_t doors() const noexcept { return closed_.size(); }
  void restart_server() { stop_server(), start_server(); }
  // Of the next sequential child; takes a restart, behind which everybody is attached again.
  void set_counter(const std::string& path, std::int32_t next);

  // --- for who wants to read what happened

  std::function<void(instant at, const std::string& what)> trace;
  template <class F>
  void tell(F&& what) {
    if (trace) trace(now_, what());
  }

  // --- for the clients

  std::mt19937_64& random() noexcept { return random_; }
  instant draw_delay();
  void plan(instant when, happening what, std::size_t client, std::uint64_t which = 0);
  void needs_attention(simulated::client& c) { attention_.push_back(&c); }
  void route(server::connection_id id, simulated::client* c);
  // A turn of the server, if it is up.
  void serve(const std::function<void(server_impl::core&)>& work);

  // Watches that the server keeps and whose clients, for each of them.
  std::vector<std::string> watches_left();

  // Who wants to know of sessions that the server ended.
  std::function<void(std::int64_t session)> expired;

 private:
  struct event {
    instant at;
    std::uint64_t order;
    happening kind;
    std::size_t client;
    std::uint64_t which;
    bool operator>(const event& o) const { return at != o.at ? at > o.at : order > o.order; }
  };
  void settle();
  void handle(const event& e);
  void plan_server_timer();
  void everybody_is_cut_off();

  world_options options_;
  std::mt19937_64 random_;
  instant now_{0};
  std::uint64_t order_ = 0;
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  std::unordered_map<std::uint64_t, std::function<void()>> calls_;
  std::vector<simulated::client*> attention_;
  instant server_timer_ = instant::max();
  std::vector<bool> closed_;  // doors
  simulated::server server_;
  std::unordered_map<server::connection_id, simulated::client*> routes_;
  std::vector<std::shared_ptr<simulated::client>> clients_;
  hand hand_;
};

}  // namespace conclave::simulated
