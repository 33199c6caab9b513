// Faulty servers cause clear errors and limited memory, and the client tries the next server.
#include <sys/resource.h>

#include <atomic>
#include <random>

#include "integration/harness.hpp"
#include "support/frames.hpp"
#include "support/scripted_server.hpp"

namespace conclave::testing {
namespace {

using event = session_event::kind;

client_options quick() {
  auto options = with_timeout(2s);
  options.connect_wait = 400ms;
  options.reconnect = [](unsigned) { return 5ms; };
  return options;
}

// The server is faulty on every connection. Operations fail with a clear code, the client keeps
// trying, and it can be closed.
void expect_no_connection(const scripted_server::script& script) {
  inbox<bool> connected;
  scripted_server server{[&](scripted_connection& c) {
    connected.put(true);
    script(c);
  }};
  client zk{server.connect_string(), quick()};
  EXPECT_EQ(code_of([&] { zk.get("/"); }), errc::not_connected);
  EXPECT_TRUE(connected.take()) << "the client did not connect";
  EXPECT_EQ(server.failures(), std::vector<std::string>{});
}

TEST(bad_server, does_not_answer) {
  expect_no_connection([](scripted_connection& c) { c.wait_until_closed(); });
}

TEST(bad_server, closes_at_once) {
  expect_no_connection([](scripted_connection& c) { c.close(); });
}

TEST(bad_server, resets_at_once) {
  expect_no_connection([](scripted_connection& c) { c.reset(); });
}

TEST(bad_server, speaks_http) {
  expect_no_connection([](scripted_connection& c) {
    c.read_frame();
    c.send_bytes("HTTP/1.1 400 Bad Request\r\n\r\n");
    c.wait_until_closed();
  });
}

TEST(bad_server, answers_the_handshake_with_half_a_frame) {
  expect_no_connection([](scripted_connection& c) {
    c.read_frame();
    c.send_bytes(std::string("\0\0\0\x24\0\0\0\0\0\0", 10));
    c.close();
  });
}

TEST(bad_server, answers_the_handshake_with_too_little) {
  expect_no_connection([](scripted_connection& c) {
    c.read_frame();
    c.send_frame("abc");
    c.wait_until_closed();
  });
}

TEST(bad_server, reports_a_new_session_as_expired) {
  expect_no_connection([](scripted_connection& c) {
    c.accept_session(0, 0);
    c.wait_until_closed();
  });
}

// The fault follows a successful handshake. The outcome of the pending request is unknown, and the
// session continues.
void expect_lost_connection(
    const std::function<void(scripted_connection&, const std::string&)>& answer) {
  scripted_server server{[&](scripted_connection& c) {
    c.accept_session(2000, 77);
    const auto request = c.read_frame();
    answer(c, request);
    c.wait_until_closed();
  }};
  inbox<std::string> log;
  auto options = quick();
  options.connect_wait = wait_limit;  // so that the request is sent
  options.log = [&](log_level, std::string_view line) { log.put(std::string{line}); };
  client zk{server.connect_string(), options};
  session_recorder events{zk};
  EXPECT_EQ(code_of([&] { zk.create("/a"); }), errc::connection_loss);
  const auto suspended = events.wait_for(event::suspended);
  ASSERT_TRUE(suspended);
  EXPECT_EQ(suspended->reason, errc::protocol_error);
  EXPECT_TRUE(events.wait_for(event::reconnected));
  EXPECT_EQ(server.failures(), std::vector<std::string>{});
}

TEST(bad_server, a_negative_length) {
  expect_lost_connection([](auto& c, auto&) { c.send_bytes("\xff\xff\xff\xff"); });
}

TEST(bad_server, an_extreme_length) {
  expect_lost_connection([](auto& c, auto&) { c.send_bytes("\x7f\xff\xff\xff"); });
}

TEST(bad_server, a_reply_to_another_request) {
  expect_lost_connection(
      [](auto& c, auto& request) { c.send_reply(int32_at(request, 0) + 1, 1, 0); });
}

TEST(bad_server, a_reply_without_its_body) {
  expect_lost_connection([](auto& c, auto& request) { c.send_reply(int32_at(request, 0), 1, 0); });
}

TEST(bad_server, a_reply_with_a_string_longer_than_the_frame) {
  expect_lost_connection([](auto& c, auto& request) {
    c.send_reply(int32_at(request, 0), 1, 0, std::string("\0\xff\xff\xff/a", 6));
  });
}

TEST(bad_server, an_empty_frame) {
  expect_lost_connection([](auto& c, auto&) { c.send_frame(""); });
}

TEST(bad_server, an_unexpected_ping_reply) {
  expect_lost_connection([](auto& c, auto&) { c.send_reply(-2, 1, 0); });
}

TEST(bad_server, a_broken_event) {
  expect_lost_connection([](auto& c, auto&) { c.send_reply(-1, 1, 0, "\x01"); });
}

TEST(bad_server, endless_random_bytes) {
  std::atomic<std::uint32_t> seed{1};
  scripted_server server{[&](scripted_connection& c) {
    std::minstd_rand random{seed++};
    c.accept_session(2000, 77);
    std::string bytes(4096, '\0');
    for (auto& b : bytes) b = static_cast<char>(random());
    bytes[0] = '\0';  // some of the lengths are valid
    bytes[1] = '\0';
    c.send_bytes(bytes);
    c.wait_until_closed(std::chrono::milliseconds{200});
  }};
  client zk{server.connect_string(), quick()};
  session_recorder events{zk};
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(events.wait_for(event::suspended));
}

TEST(bad_server, a_large_length_allocates_no_memory_before_the_data) {
  scripted_server server{[&](scripted_connection& c) {
    c.accept_session(2000, 77);
    c.send_bytes(std::string("\0\xff\0\0", 4));  // a length of 16 MiB without data
    c.wait_until_closed();
  }};
  rusage before{};
  rusage after{};
  ::getrusage(RUSAGE_SELF, &before);
  {
    std::vector<std::unique_ptr<client>> many;
    context shared;
    for (int i = 0; i < 50; ++i)
      many.push_back(std::make_unique<client>(shared, server.connect_string(), with_timeout(2s)));
    for (auto& zk : many) ASSERT_TRUE(zk->wait_connected(wait_limit));
    for (auto& zk : many) zk->async_get("/", [](error_code, get_result) {});
  }
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 200'000)
      << "fifty lengths of 16 MiB must not allocate 800 MiB";
}

TEST(bad_server, a_slow_server_that_sends_single_bytes_is_accepted) {
  scripted_server server{[&](scripted_connection& c) {
    c.accept_session(5000, 77);
    for (;;) {
      const auto request = c.read_frame();
      std::string reply;
      append_int32(reply, int32_at(request, 0));
      append_int64(reply, 5);
      append_int32(reply, -101);
      for (const char byte : framed(reply)) c.send_bytes({&byte, 1});
    }
  }};
  client zk{server.connect_string(), with_timeout(5s)};
  EXPECT_EQ(code_of([&] { zk.get("/a"); }), errc::no_node);
}

}  // namespace
}  // namespace conclave::testing
