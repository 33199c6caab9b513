#include <chrono>

#include <gtest/gtest.h>

#include "simulation/ensemble/ensemble_workloads.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;

ensemble_options round_numbers() {
  ensemble_options o;
  o.request_cpu = 10us;
  o.propose_cpu = 20us;
  o.apply_cpu = 30us;
  o.event_cpu = 5us;
  o.kilobyte_cpu = 0us;
  o.client_cpu = 40us;
  o.client_delay = 100us;
  o.server_delay = 200us;
  o.flush = 1ms;
  return o;
}

// To the server and back, with the CPU time of the server and of the client.
constexpr auto read_time = 100us + 10us + 100us + 40us;
// The leader flushes its disk while the others receive the write and flush theirs. The first of
// them completes the majority.
constexpr auto write_time = read_time + 20us + 200us + 1ms + 200us + 30us;

TEST(ensemble_model, a_read_is_answered_by_the_client_s_server) {
  const auto f = run_reads(round_numbers(), 1, 50);
  EXPECT_EQ(f.median, read_time);
  EXPECT_EQ(f.servers[0].requests, 50u);
  EXPECT_EQ(f.servers[1].requests, 0u);
  EXPECT_EQ(f.servers[0].flushes, 0u);
}

// The first client is connected to the leader. An acquisition also reads, which takes CPU time
// after the write.
TEST(ensemble_model, a_write_waits_for_a_majority) {
  const auto f = run_own_locks(round_numbers(), 1, 50);
  EXPECT_GE(f.median, write_time);
  EXPECT_LE(f.median, write_time + 100us);
  for (const auto& s : f.servers) EXPECT_GE(s.writes, 49u);
}

// The write of a follower's client also travels to the leader, and the commit back to the follower.
// It may have to wait for the flush of another client's write.
TEST(ensemble_model, a_follower_forwards_writes_to_the_leader) {
  const auto f = run_own_locks(round_numbers(), 3, 150);
  EXPECT_GE(f.median_at_last_server, write_time + 400us);
  EXPECT_LE(f.median_at_last_server, write_time + 400us + 1ms + 100us);
}

TEST(ensemble_model, concurrent_writes_share_flushes) {
  const auto f = run_own_locks(round_numbers(), 30, 600);
  EXPECT_LT(f.servers[0].flushes, 300u);
  EXPECT_GT(f.per_second(), 3 * run_own_locks(round_numbers(), 1, 50).per_second());
}

TEST(ensemble_model, hand_offs_cost_the_same_with_many_waiters) {
  const auto few = run_contended_lock(round_numbers(), 10, 200);
  const auto many = run_contended_lock(round_numbers(), 1000, 200);
  EXPECT_LT(many.median, few.median * 3 / 2);
  EXPECT_LT(many.servers[0].bytes_sent + many.servers[1].bytes_sent,
            2 * (few.servers[0].bytes_sent + few.servers[1].bytes_sent));
}

// The clients of the lagging server are granted the lock later. The others are not affected while a
// majority is fast.
TEST(ensemble_model, a_lagging_follower_delays_only_its_clients) {
  auto lagging = round_numbers();
  lagging.lag = 50ms;
  const auto f = run_contended_lock(lagging, 30, 300);
  EXPECT_GE(f.median_at_last_server, 50ms);
  EXPECT_LT(f.median, 10ms);
}

TEST(ensemble_model, idle_sessions_send_pings) {
  const auto f = run_idle_sessions(round_numbers(), 30);
  // A minute, 30 clients on three servers, a ping every 10 s.
  EXPECT_GE(f.servers[0].requests, 50u);
  EXPECT_LE(f.servers[0].requests, 70u);
}

}  // namespace
}  // namespace conclave::simulated
