// Clients, a network and the server in one thread on a virtual clock. The same seed always gives
// the same history.
//
// Each client is a session machine with a session_context for recipes. The server is the core of
// the embedded server. Events are handled in the order of their time. Events with the same time are
// handled in the order in which they were scheduled.
//
//   world w{{.clients = 2}};
//   w.run_until([&] { return w.client(0).attached(); });
//   w.client(0).drop_reply(wire::opcode::create2);
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
  // Long, so that the expiry of a session does not remove a node that a recipe forgot.
  std::chrono::milliseconds session_timeout{600'000};
  std::chrono::milliseconds connect_wait{0};
  bool renew_expired = true;
  std::shared_ptr<conclave::metrics> metrics = {};  // shared by all clients
  std::size_t max_request_bytes = client_options{}.max_request_bytes;
  // The delay of a packet in one direction is random between these two.
  std::chrono::microseconds least_delay{1000};
  std::chrono::microseconds most_delay{1000};
  // The number of addresses in the clients' connect string. Each can be blocked separately.
  std::size_t server_addresses = 1;
  // The largest difference between the rates of a client's clock and the server's, in thousandths.
  int drift = 0;
  server_impl::core_options server = long_lived();
  // Creates the server's storage. If empty, memory_storage is used.
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
  // Starts another client. Allowed at any time.
  simulated::client& add_client();
  simulated::server& server() noexcept { return server_; }
  // A client with all permissions, for changes made by hand.
  direct_client& by_hand() noexcept { return direct_client_; }

  // --- time

  // Handles one event. Returns false if there is none until `limit`.
  bool step(instant limit = instant::max());
  void advance(instant d);
  // Returns false if done() is still false after `within`.
  bool run_until(const std::function<bool()>& done, instant within = std::chrono::minutes{10});
  bool wait_until_connected();
  // Ends the simulation. Pending operations complete, so they no longer keep their client alive.
  void finish();
  // Calls f after this time.
  void after(instant d, std::function<void()> f);

  // --- faults of the server; for faults of one connection see client

  // Disconnects all clients. They cannot connect until start_server().
  void stop_server();
  void start_server();
  // The server's power fails during its next commit.
  void fail_in_next_commit(std::uint64_t seed) {
    if (server_.up()) server_.crash_in_next_commit(seed);
  }
  void forget_commit_fault() { server_.forget_commit_fault(); }
  // Closes all connections to this address and refuses new ones.
  void block_address(std::size_t address);
  void unblock_address(std::size_t address) { blocked_[address] = false; }
  bool is_reachable(std::size_t address) const { return !blocked_[address]; }
  std::size_t server_addresses() const noexcept { return blocked_.size(); }
  void restart_server() { stop_server(), start_server(); }
  // Sets the sequence number of the next sequential child. Restarts the server and returns when all
  // clients are connected again.
  void set_counter(const std::string& path, std::int32_t next);

  // --- trace

  std::function<void(instant at, const std::string& what)> trace;
  template <class F>
  void write_trace(F&& what) {
    if (trace) trace(now_, what());
  }

  // --- for the clients

  std::mt19937_64& random() noexcept { return random_; }
  instant draw_delay();
  void schedule(instant when, event_kind what, std::size_t client, std::uint64_t which = 0);
  void request_pump(simulated::client& c) { pending_clients_.push_back(&c); }
  void route(server::connection_id id, simulated::client* c);
  // Runs a turn of the server, if the server is up.
  void serve(const std::function<void(server_impl::core&)>& work);

  // The watches that are still on the server, one line for each client that has some.
  std::vector<std::string> leftover_watches();

  // Called when the server has expired a session.
  std::function<void(std::int64_t session)> expired;

 private:
  struct event {
    instant at;
    std::uint64_t order;
    event_kind kind;
    std::size_t client;
    std::uint64_t which;
    bool operator>(const event& o) const { return at != o.at ? at > o.at : order > o.order; }
  };
  void pump_pending_clients();
  void handle(const event& e);
  void schedule_server_timer();
  void disconnect_all();

  world_options options_;
  std::mt19937_64 random_;
  instant now_{0};
  std::uint64_t order_ = 0;
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  std::unordered_map<std::uint64_t, std::function<void()>> calls_;
  std::vector<simulated::client*> pending_clients_;
  instant server_timer_ = instant::max();
  std::vector<bool> blocked_;  // by address
  simulated::server server_;
  std::unordered_map<server::connection_id, simulated::client*> routes_;
  std::vector<std::shared_ptr<simulated::client>> clients_;
  direct_client direct_client_;
};

}  // namespace conclave::simulated
