// A model of a ZooKeeper ensemble, for estimates of latency and load with many clients.
//
// Each server runs the core of the embedded server on a virtual clock. The model adds the path of a
// request in ZooKeeper:
// - A client is connected to one server. This server answers reads from its own tree.
// - A write goes to the leader. The leader sends it to all servers. Each server writes it to its
//   disk. Writes that arrive during a flush share the next flush. When a majority has written it,
//   the leader commits it, and every server applies it to its tree.
// - Requests of one client are answered in order. A read waits for the client's earlier writes.
//
// CPU time, network delays and flushes take the times in ensemble_options. Nothing fails: sessions
// do not expire and connections are not lost.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/core/core.hpp"
#include "wire/frame.hpp"

namespace conclave::simulated {

using instant = std::chrono::nanoseconds;  // since the start of the simulation

struct ensemble_options {
  std::size_t servers = 3;
  // CPU time of a server.
  std::chrono::nanoseconds request_cpu{std::chrono::microseconds{20}};  // receive and answer
  std::chrono::nanoseconds propose_cpu{std::chrono::microseconds{20}};  // the leader, per write
  std::chrono::nanoseconds apply_cpu{std::chrono::microseconds{20}};    // every server, per write
  std::chrono::nanoseconds event_cpu{std::chrono::microseconds{10}};    // per watch event
  std::chrono::nanoseconds kilobyte_cpu{std::chrono::microseconds{2}};  // per 1,000 bytes sent
  std::chrono::nanoseconds client_cpu{std::chrono::microseconds{20}};   // per packet of a client
  // Network delays in one direction.
  std::chrono::nanoseconds client_delay{std::chrono::microseconds{100}};
  std::chrono::nanoseconds server_delay{std::chrono::microseconds{100}};
  std::chrono::nanoseconds flush{std::chrono::microseconds{500}};
  // The last server applies committed writes this much later than the others.
  std::chrono::nanoseconds lag{0};
  // If not 0, all servers and clients share this many cores, as on one machine. Otherwise each
  // server has one core, and the clients are not limited.
  std::size_t shared_cores = 0;
};

// Runs work in the order in which it is submitted, on the core that is free first.
class processor {
 public:
  explicit processor(std::size_t cores) : free_at_(cores, instant{0}) {}
  // Returns the time at which the work is done.
  instant run(instant now, std::chrono::nanoseconds work);

 private:
  std::vector<instant> free_at_;
};

// The load of one server, in total since the start.
struct server_load {
  std::chrono::nanoseconds cpu{0};
  std::chrono::nanoseconds disk{0};  // time during which a flush was in progress
  std::uint64_t requests = 0;        // of its clients
  std::uint64_t writes = 0;          // applied
  std::uint64_t flushes = 0;
  std::uint64_t events = 0;
  std::uint64_t bytes_sent = 0;  // to its clients

  server_load operator-(const server_load& before) const;
};

class ensemble {
 public:
  using connection_id = server_impl::connection_id;
  static constexpr std::size_t leader = 0;

  explicit ensemble(const ensemble_options& options, std::uint64_t seed = 1);
  ~ensemble();
  ensemble(const ensemble&) = delete;
  ensemble& operator=(const ensemble&) = delete;

  instant now() const noexcept { return now_; }
  const ensemble_options& options() const noexcept { return options_; }
  void call_at(instant when, std::function<void()> f);
  // Handles events until done() returns true. Returns false if that takes longer than `within`.
  bool run_until(const std::function<bool()>& done, instant within = std::chrono::hours{1});
  void advance(instant d);

  // --- for clients

  // `received` gets the bytes that the server sends.
  connection_id connect(std::size_t server, std::function<void(std::string bytes)> received);
  void send(connection_id id, std::string bytes);

  // --- results

  server_load load(std::size_t server) const;
  const server_impl::tree& nodes(std::size_t server) const;
  // Returns true if all servers have applied the same writes.
  bool replicas_agree() const;

 private:
  struct connection;
  struct replica;
  struct log_entry {
    connection_id from = 0;
    std::string frame;
    bool is_sync = false;  // is not written to disk and changes nothing
    std::size_t acknowledged = 0;
  };
  struct event {
    instant at;
    std::uint64_t order;
    std::function<void()> f;
    bool operator>(const event& o) const { return at != o.at ? at > o.at : order > o.order; }
  };

  instant run(std::size_t server, std::chrono::nanoseconds work);
  void arrive(connection_id id, const std::string& bytes);
  void process(connection& c, std::string frame);
  void order(log_entry e);
  void log(std::size_t server, std::size_t index);
  void start_flush(std::size_t server);
  void acknowledge(std::size_t index);
  void apply(std::size_t server, std::size_t index);
  void execute(std::size_t server, connection& c, std::string_view frame);
  void execute_waiting_reads(connection& c);
  void deliver(std::size_t server, connection& from);

  ensemble_options options_;
  instant now_{0};
  std::uint64_t order_ = 0;
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  std::shared_ptr<processor> shared_;  // null if each server has its own
  std::vector<std::unique_ptr<replica>> servers_;
  std::unordered_map<connection_id, std::unique_ptr<connection>> connections_;
  connection_id last_connection_ = 0;
  std::vector<log_entry> log_;
  std::size_t committed_ = 0;  // the number of committed entries
};

}  // namespace conclave::simulated
