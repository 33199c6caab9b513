// Clients that send and do not read. The server's memory stays limited and other clients are not
// affected. A client that reads later gets everything in order.
#include <poll.h>
#include <signal.h>

#include <array>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "integration/harness.hpp"
#include "server/helper_process.hpp"
#include "server/raw_session.hpp"
#include "server/serve_process.hpp"
#include "server/statistics.hpp"

namespace conclave::testing {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t megabyte = 1024;  // in kilobytes

class slow_reader : public ::testing::Test {
 protected:
  // Creates children of /other whose list is 1 MB.
  void make_large_list() {
    const std::string padding(96, 'x');
    raw_session maker{server.tcp()};
    ASSERT_TRUE(maker.handshake(40'000));
    for (int i = 1; i <= children; ++i)
      maker.link.send_frame(create_request(i, "/other/" + padding + std::to_string(i), "", false));
    for (int i = 1; i <= children; ++i) {
      ASSERT_EQ(decode_reply(maker.link.receive_frame()).error, 0);
    }
    memory_before = server.resident_kilobytes();
  }

  // Checks that operations of other clients succeed in a reasonable time.
  void expect_others_work() {
    for (int i = 0; i < 20; ++i) {
      const auto begin = clock::now();
      other.set("/other", std::to_string(i));
      EXPECT_EQ(other.get("/other").data, std::to_string(i));
      slowest = std::max(slowest, clock::now() - begin);
    }
    client newcomer{server.tcp()};
    EXPECT_TRUE(newcomer.exists("/other"));
    EXPECT_LT(slowest, 5s);
  }

  void expect_memory_below(std::size_t kilobytes, const std::string& name) {
    const auto used = server.most_resident_kilobytes();
    const auto more = used - std::min(used, memory_before);
    RecordProperty(name + "_kilobytes", static_cast<int>(more));
    RecordProperty(
        "slowest_of_others_us",
        static_cast<int>(std::chrono::duration_cast<std::chrono::microseconds>(slowest).count()));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(more, kilobytes);
#endif
  }

  // Returns whether the server closes the connection. Does not read from it.
  static bool is_dropped(const loopback_socket& link, std::chrono::milliseconds limit) {
    pollfd ended{link.native_handle(), POLLRDHUP, 0};
    return ::poll(&ended, 1, static_cast<int>(limit.count())) == 1;
  }

  // Sends the bytes in another thread. Returns the number of bytes that the server accepted.
  static std::future<std::size_t> send_all(loopback_socket& link, const std::string& bytes) {
    return std::async(std::launch::async, [&link, &bytes] {
      constexpr std::size_t piece = 1 << 20;
      std::size_t sent = 0;
      try {
        for (; sent < bytes.size(); sent += piece)
          link.send(std::string_view{bytes}.substr(sent, piece), 60s);
      } catch (const connection_ended&) {
      }
      return std::min(sent, bytes.size());
    });
  }

  // Waits until the server has stopped reading from the client.
  void wait_until_held_back() {
    long long received = -1;
    EXPECT_TRUE(eventually([&] {
      const auto now = statistic(server.port(), "zk_packets_received");
      std::this_thread::sleep_for(50ms);
      return std::exchange(received, now) == now;
    }));
  }

  static constexpr int children = 10'000;
  serve_process server{{"--durability", "none", "--listen", "0", "--stall-limit", "20s"}};
  client other{server.tcp()};
  bool made = (other.create("/other"), true);
  std::size_t memory_before = server.resident_kilobytes();
  clock::duration slowest{0};
};

TEST_F(slow_reader, fifty_thousand_requests_are_answered_as_fast_as_the_client_reads) {
  constexpr int count = 50'000;
  other.create("/large", std::string(2000, 'x'));  // 100 MB of replies
  raw_session s{server.tcp()};
  ASSERT_TRUE(s.handshake(40'000));
  std::string requests;
  for (int i = 1; i <= count; ++i) requests += framed(path_request(i, op::get_data, "/large"));
  auto sent = send_all(s.link, requests);
  wait_until_held_back();
  expect_others_work();
  expect_memory_below(20 * megabyte, "fifty_thousand_requests");
  for (int i = 1; i <= count; ++i) {
    const auto reply = decode_reply(s.link.receive_frame());
    ASSERT_EQ(reply.xid, i);
    ASSERT_EQ(reply.error, 0);
    ASSERT_EQ(reply.body.size(), 4u + 2000 + 68);
  }
  EXPECT_EQ(sent.get(), requests.size());
  expect_memory_below(20 * megabyte, "fifty_thousand_answers");
}

TEST_F(slow_reader, fifty_thousand_changes_are_all_applied_and_answered) {
  constexpr int count = 50'000;
  raw_session s{server.socket()};
  ASSERT_TRUE(s.handshake(40'000));
  std::string requests;
  for (int i = 1; i <= count; ++i)
    requests += framed(create_request(i, "/other/" + std::to_string(i), "", true));
  auto sent = send_all(s.link, requests);
  expect_others_work();
  for (int i = 1; i <= count; ++i) ASSERT_EQ(decode_reply(s.link.receive_frame()).xid, i);
  EXPECT_EQ(sent.get(), requests.size());
  EXPECT_EQ(other.exists("/other")->num_children, count);
}

// Requests a list of 1 MB 2000 times.
TEST_F(slow_reader, large_lists_are_not_built_before_the_client_reads) {
  make_large_list();
  constexpr int count = 2000;
  std::string requests;
  for (int i = 1; i <= count; ++i) requests += framed(path_request(i, op::get_children, "/other"));
  raw_session s{server.tcp()};
  ASSERT_TRUE(s.handshake(40'000));
  auto sent = send_all(s.link, requests);
  wait_until_held_back();
  expect_others_work();
  expect_memory_below(20 * megabyte, "large_lists");
  for (int i = 1; i <= 50; ++i) {  // the rest would only take time
    const auto reply = decode_reply(s.link.receive_frame());
    ASSERT_EQ(reply.xid, i);
    ASSERT_EQ(int32_at(reply.body, 0), children);
  }
  expect_memory_below(20 * megabyte, "large_lists_read");
  s.link.reset();
  sent.wait();
  expect_others_work();
}

// So many clients that their pending output exceeds the total limit. Other clients must not wait.
TEST_F(slow_reader, many_slow_readers_block_no_other_client) {
  make_large_list();
  std::vector<std::unique_ptr<raw_session>> clients;
  for (int i = 0; i < 400; ++i) {
    clients.push_back(std::make_unique<raw_session>(server.socket()));
    ASSERT_TRUE(clients.back()->handshake(40'000));
    for (int k = 1; k <= 3; ++k)
      clients.back()->link.send_frame(path_request(k, op::get_children, "/other"));
  }
  wait_until_held_back();
  expect_others_work();
  client local{server.socket()};
  EXPECT_TRUE(local.exists("/other"));
  watch_recorder arrived;
  ASSERT_FALSE(local.exists("/held", arrived.get()));
  {
    child_process holder{helper_process("hold", server.socket(), 40'000, "/held")};
    ASSERT_TRUE(arrived.take());
    watch_recorder gone;
    ASSERT_TRUE(local.exists("/held", gone.get()));
    holder.kill(SIGKILL);
    EXPECT_TRUE(gone.take(2s));
  }
  expect_memory_below(600 * megabyte, "a_crowd_that_does_not_read");

  for (std::size_t i = 0; i < clients.size(); i += 10)
    for (int k = 1; k <= 3; ++k) {
      const auto reply = decode_reply(clients[i]->link.receive_frame());
      ASSERT_EQ(reply.xid, k);
      ASSERT_EQ(int32_at(reply.body, 0), children);
    }
  expect_others_work();
}

// The path is so long that an event is 100 KB.
class flooded : public slow_reader {
 protected:
  void flood(int times) {
    inbox<error_code> done;
    for (int i = 0; i < times; ++i)
      other.async_set(path, "", any_version, [&](error_code ec, node_stat) { done.put(ec); });
    for (int i = 0; i < times; ++i) ASSERT_EQ(done.take(), error_code{});
  }

  std::string path = "/" + std::string(100'000, 'x');
  raw_session watching{server.tcp()};
};

TEST_F(flooded, a_watcher_gets_every_event_when_it_reads) {
  other.create(path);
  ASSERT_TRUE(watching.handshake(40'000));
  ASSERT_EQ(watching.call(add_watch_request(1, "/", true)).error, 0);
  for (int round = 0; round < 2; ++round) {
    flood(300);
    expect_others_work();
    for (int i = 0; i < 300;) {
      const auto event = decode_reply(watching.link.receive_frame());
      ASSERT_EQ(event.xid, -1);
      if (event.body.ends_with(path)) ++i;  // skips events of /other
    }
  }
  EXPECT_EQ(watching.exists("/other"), 0);
  expect_memory_below(150 * megabyte, "thirty_megabytes_of_events");
}

TEST_F(flooded, a_watcher_that_never_reads_is_dropped) {
  other.create(path);
  ASSERT_TRUE(watching.handshake(40'000));
  ASSERT_EQ(watching.call(add_watch_request(1, "/", true)).error, 0);
  for (int i = 0; i < 10 && !is_dropped(watching.link, 0ms); ++i) {
    flood(100);
    expect_others_work();
  }
  EXPECT_TRUE(is_dropped(watching.link, 1s)) << "100 MB wait for it";
  EXPECT_EQ(statistic(server.port(), "conclave_slow_clients_dropped"), 1);
  expect_memory_below(200 * megabyte, "a_flood_of_events");
  EXPECT_TRUE(server.prints("does not read its replies; disconnected"));
  // Its session still exists.
  raw_session again{server.tcp()};
  EXPECT_TRUE(again.reconnect(watching));
}

// One transaction causes 1 MB of events for each client. Nothing can be sent before the commit.
TEST_F(flooded, a_transaction_with_too_many_events_drops_clients_without_space) {
  other.create(path);
  std::vector<std::unique_ptr<raw_session>> clients;
  for (int i = 0; i < 400; ++i) {
    clients.push_back(std::make_unique<raw_session>(server.socket()));
    ASSERT_TRUE(clients.back()->handshake(40'000));
    ASSERT_EQ(clients.back()->call(add_watch_request(1, "/", true)).error, 0);
  }
  transaction many;
  const auto child = path.substr(0, 95'000);
  for (int i = 0; i < 10; ++i) many.create(child + std::to_string(i));
  other.commit(many);
  expect_others_work();
  expect_memory_below(450 * megabyte, "a_transaction_with_many_events");
  EXPECT_GT(statistic(server.port(), "conclave_slow_clients_dropped"), 100);
  EXPECT_TRUE(server.prints("has too many unsent watch events; disconnected"));
  // Each client gets all events, or none and is disconnected.
  int served = 0;
  for (const auto& c : clients) {
    try {
      for (int i = 0; i < 10; ++i) {
        const auto event = decode_reply(c->link.receive_frame());
        ASSERT_TRUE(event.body.ends_with(child + std::to_string(i)));
      }
      ++served;
    } catch (const connection_ended&) {
    }
  }
  EXPECT_GT(served, 20);
  EXPECT_LT(served, 200);
}

TEST(stalled, a_client_that_reads_nothing_for_too_long_is_dropped) {
  serve_process server{{"--durability", "none", "--listen", "0", "--stall-limit", "500ms"}};
  raw_session s{server.tcp()};
  ASSERT_TRUE(s.handshake(40'000));
  ASSERT_EQ(s.create("/large", std::string(1'000'000, 'x')), 0);
  const auto begin = clock::now();
  for (int i = 1; i <= 50; ++i) s.link.send_frame(path_request(i, op::get_data, "/large"));
  pollfd ended{s.link.native_handle(), POLLRDHUP, 0};
  EXPECT_EQ(::poll(&ended, 1, 30'000), 1);
  EXPECT_GE(clock::now() - begin, 450ms);
  // A client without pending output is not dropped.
  raw_session idle{server.tcp()};
  ASSERT_TRUE(idle.handshake(40'000));
  std::this_thread::sleep_for(2s);
  EXPECT_EQ(idle.exists("/large"), 0);
}

}  // namespace
}  // namespace conclave::testing
