// Sessions that are closed, expired or refused.
#include "integration/harness.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

using event = session_event::kind;

class session_end : public ::testing::Test {
 protected:
  // Disconnects the client until the server has expired the session.
  void expire(client& zk, const std::string& ephemeral) {
    session_recorder events{zk};
    watch_recorder gone;
    ASSERT_TRUE(other.exists(ephemeral, gone.get()));
    proxy.disconnect();
    ASSERT_TRUE(gone.take());
    EXPECT_LT(zk.session_deadline(), boot_clock::now())
        << "the deadline must pass before the server expires the session";
    proxy.heal();
  }

  link_proxy proxy{shared_server().port()};
  client other{shared_server().connect_string()};
  std::string root = fresh_node(other, "session_end");
};

TEST_F(session_end, an_expired_session_is_reported_and_a_new_one_starts) {
  client zk{proxy.connect_string(), with_timeout(400ms)};
  session_recorder events{zk};
  const auto node = zk.create(root + "/e", "", create_mode::ephemeral).path;
  const auto first = zk.session_id();
  watch_recorder watched;
  zk.get(root, watched.get());
  expire(zk, node);
  EXPECT_EQ(events.wait_for(event::expired)->session_id, first);
  EXPECT_EQ(events.next()->type, event::connected);
  EXPECT_EQ(watched.take()->type, watch_event::kind::session_ended);
  EXPECT_NE(zk.session_id(), first);
  EXPECT_FALSE(zk.exists(node));
  zk.create(node, "", create_mode::ephemeral);
}

TEST_F(session_end, operations_that_waited_for_the_expired_session_fail) {
  client_options options = with_timeout(400ms);
  options.connect_wait = 60s;
  client zk{proxy.connect_string(), options};
  session_recorder events{zk};
  const auto node = zk.create(root + "/w", "", create_mode::ephemeral).path;
  watch_recorder gone;
  other.exists(node, gone.get());
  proxy.disconnect();
  ASSERT_TRUE(events.wait_for(event::suspended));
  inbox<error_code> got;
  zk.async_create(root + "/late", "", {}, [&](error_code ec, create_result) { got.put(ec); });
  ASSERT_TRUE(gone.take());
  proxy.heal();
  const auto ec = got.take();
  EXPECT_EQ(ec, error_code{errc::session_expired});
  EXPECT_EQ(*ec, condition::session_dead);
}

TEST_F(session_end, a_client_without_renewal_starts_no_new_session) {
  client_options options = with_timeout(400ms);
  options.renew_expired = false;
  client zk{proxy.connect_string(), options};
  session_recorder events{zk};
  expire(zk, zk.create(root + "/d", "", create_mode::ephemeral).path);
  ASSERT_TRUE(events.wait_for(event::expired));
  EXPECT_EQ(zk.state(), session_state::expired);
  EXPECT_EQ(code_of([&] { zk.get("/"); }), errc::session_expired);
}

TEST_F(session_end, close_removes_ephemeral_nodes_at_once_and_is_the_last_event) {
  client zk{shared_server().connect_string()};
  session_recorder events{zk};
  zk.create(root + "/c", "", create_mode::ephemeral);
  zk.close();
  other.sync();
  EXPECT_FALSE(other.exists(root + "/c"));
  ASSERT_TRUE(events.wait_for(event::closed));
  EXPECT_EQ(events.next(20ms), std::nullopt);
  EXPECT_EQ(code_of([&] { zk.get("/"); }), errc::closed);
  zk.close();  // a second call has no effect
}

TEST_F(session_end, requests_made_before_close_are_answered) {
  client zk{shared_server().connect_string()};
  inbox<error_code> got;
  for (int i = 0; i < 200; ++i)
    zk.async_create(root + "/b" + std::to_string(i), "", {},
                    [&](error_code ec, create_result) { got.put(ec); });
  zk.sync();
  zk.close();
  for (int i = 0; i < 200; ++i) EXPECT_EQ(got.take(0s), error_code{});
}

TEST_F(session_end, close_without_a_server_returns) {
  client zk{"127.0.0.1:1"};
  inbox<error_code> got;
  zk.async_get("/", [&](error_code ec, get_result) { got.put(ec); });
  zk.close();
  EXPECT_EQ(got.take(), error_code{errc::closed});
}

TEST_F(session_end, a_session_closed_by_another_client_is_expired) {
  // A second client with the same session id and password could close the session. The client would
  // learn this on its next connection.
  client zk{proxy.connect_string(), with_timeout(400ms)};
  session_recorder events{zk};
  ASSERT_TRUE(zk.wait_connected(wait_limit));
  proxy.blackhole(true);
  ASSERT_TRUE(events.wait_for(event::suspended));
  watch_recorder gone;
  proxy.disconnect();
  proxy.blackhole(false);
  // Waits until the server reports that the session has expired.
  const auto id = zk.session_id();
  char hex[32];
  std::snprintf(hex, sizeof hex, "0x%lx", static_cast<unsigned long>(id));
  while (shared_server().ask("dump").find(hex) != std::string::npos) other.sync();
  proxy.heal();
  EXPECT_TRUE(events.wait_for(event::expired));
  EXPECT_TRUE(events.wait_for(event::connected));
}

TEST_F(session_end, events_keep_their_order_over_many_reconnects) {
  client zk{proxy.connect_string()};
  inbox<session_event> all;
  auto listening = zk.on_session_event([&](const session_event& e) { all.put(e); });
  ASSERT_TRUE(zk.wait_connected(wait_limit));
  for (int i = 0; i < 20; ++i) {
    proxy.drop_links(i % 2 == 0 ? link_proxy::ending::fin : link_proxy::ending::reset);
    zk.sync();
  }
  zk.close();
  bool attached = false;
  int reconnected = 0;
  while (const auto e = all.take(0s)) {
    switch (e->type) {
      case event::connected:
      case event::reconnected:
        EXPECT_FALSE(attached);
        attached = true;
        reconnected += e->type == event::reconnected;
        break;
      case event::suspended:
        EXPECT_TRUE(attached);
        attached = false;
        break;
      case event::closed: EXPECT_EQ(all.size(), 0u); break;
      default: FAIL() << to_string(e->type);
    }
  }
  EXPECT_GT(reconnected, 10);
}

TEST_F(session_end, a_listener_in_the_options_receives_the_first_event) {
  inbox<session_event> events;
  client_options options;
  options.on_session_event = [&](const session_event& e) { events.put(e); };
  client zk{shared_server().connect_string(), options};
  EXPECT_EQ(events.take()->type, event::connected);
  zk.close();
  EXPECT_EQ(events.take()->type, event::closed);
}

}  // namespace
}  // namespace conclave::testing
