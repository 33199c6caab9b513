// Thousands of connections without a handshake, while other clients work.
#include <atomic>
#include <thread>

#include "integration/harness.hpp"
#include "server/helper_process.hpp"
#include "server/raw_session.hpp"
#include "server/serve_process.hpp"
#include "server/statistics.hpp"

namespace conclave::testing {
namespace {

constexpr int crowd_size = 10'000;

// A client that works continuously. Every operation must succeed.
class worker {
 public:
  explicit worker(const std::string& address) : zk_{address}, thread_{[this] { work(); }} {}
  ~worker() { stop(); }
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  // Returns the number of operations.
  int stop() {
    ended_ = true;
    if (thread_.joinable()) thread_.join();
    return done_;
  }
  int done() const { return done_; }

 private:
  void work() {
    try {
      for (; !ended_; done_ += 3) {
        zk_.create("/work", "some");
        EXPECT_EQ(zk_.get("/work").data, "some");
        zk_.remove("/work");
      }
    } catch (const error& e) {
      ADD_FAILURE() << e.what();
    }
  }

  client zk_;
  std::atomic<bool> ended_ = false;
  std::atomic<int> done_ = 0;
  std::thread thread_;
};

void expect_everyone_else_is_served(serve_process& server, const std::string& crowded) {
  const auto before = server.resident_kilobytes();
  worker busy{server.tcp()};
  client zk{server.tcp()};
  watch_recorder arrived;
  ASSERT_FALSE(zk.exists("/crowd", arrived.get()));
  {
    child_process crowd{helper_process("silent", crowded, crowd_size, "/crowd")};
    ASSERT_TRUE(arrived.take()) << "a later client can connect";
    ::testing::Test::RecordProperty("kilobytes_for_the_crowd",
                                    static_cast<int>(server.resident_kilobytes() - before));
    ::testing::Test::RecordProperty("connections", static_cast<int>(connections_of(server.port())));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(server.resident_kilobytes() - before, 60u * 1024);
#endif
    for (const auto& at : server.addresses()) {
      client newcomer{at};
      EXPECT_TRUE(newcomer.exists("/crowd"));
    }
    const auto so_far = busy.done();
    while (busy.done() < so_far + 30 && !::testing::Test::HasFailure()) std::this_thread::yield();
  }
  EXPECT_GT(busy.stop(), 0);
  EXPECT_TRUE(eventually([&] { return connections_of(server.port()) <= 3; }));
}

TEST(silent_connections, on_tcp_block_no_other_client) {
  serve_process server{
      {"--durability", "none", "--no-socket", "--listen", "0", "--handshake-limit", "1m"}};
  expect_everyone_else_is_served(server, server.tcp());
}

// Each connection uses two descriptors, so there are not enough.
TEST(silent_connections, on_the_socket_block_no_other_client) {
  serve_process server{{"--durability", "none", "--listen", "0", "--handshake-limit", "1m"}};
  expect_everyone_else_is_served(server, server.socket());
}

TEST(silent_connections, are_closed_after_the_handshake_timeout) {
  serve_process server{{"--durability", "none", "--listen", "0", "--handshake-limit", "500ms"}};
  const auto begin = std::chrono::steady_clock::now();
  auto tcp = connect_to(server.tcp());
  auto local = connect_to(server.socket());
  auto half_a_greeting = connect_to(server.tcp());
  half_a_greeting.send(framed(encode(connect_request{})).substr(0, 20));
  auto half_a_word = connect_to(server.tcp());
  half_a_word.send("ru");
  raw_session greeted{server.tcp()};
  ASSERT_TRUE(greeted.handshake(10'000));
  for (auto* link : {&tcp, &local, &half_a_greeting, &half_a_word}) EXPECT_TRUE(is_ended(*link));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 450ms);
  EXPECT_EQ(greeted.exists("/"), 0);
}

}  // namespace
}  // namespace conclave::testing
