// Sessions: timeout, close, expiry, and reconnect on another connection.
#include "fixture.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

class session : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(witness.wait_connected());
    root = fresh_node(witness, "x");
  }

  c_client witness{shared_server().connect_string()};
  std::unique_ptr<calls> seen = blocking_calls(witness);
  std::string root;
};

TEST_F(session, the_timeout_is_kept_within_the_servers_bounds) {
  const std::pair<int, int> wanted_and_given[]{{200, 400}, {5000, 5000}, {1000000, 60000}};
  for (const auto& [wanted, given] : wanted_and_given) {
    c_client zk{shared_server().connect_string(), wanted};
    ASSERT_TRUE(zk.wait_connected());
    EXPECT_EQ(zoo_recv_timeout(zk), given);
  }
}

TEST_F(session, closing_removes_its_ephemeral_nodes_at_once) {
  c_client zk{shared_server().connect_string(), 60000};
  ASSERT_TRUE(zk.wait_connected());
  const auto api = blocking_calls(zk);
  ASSERT_EQ(api->create(root + "/e", "", ZOO_EPHEMERAL).rc, ZOK);
  ASSERT_EQ(api->create(root + "/n-", "", ZOO_EPHEMERAL_SEQUENTIAL).rc, ZOK);
  ASSERT_EQ(api->create(root + "/p", "").rc, ZOK);
  watch e;
  watch list;
  ASSERT_EQ(seen->exists(root + "/e", &e).rc, ZOK);
  ASSERT_EQ(seen->children(root, &list).rc, ZOK);
  const auto before = seen->exists(root).stat;
  zk.close();
  EXPECT_EQ(e.take(), deleted(root + "/e"));
  EXPECT_EQ(list.take(), children_changed(root));
  EXPECT_EQ(seen->children(root).children, std::vector<std::string>{"p"});
  const auto after = seen->exists(root).stat;
  EXPECT_EQ(after.cversion, before.cversion + 2);
  EXPECT_GT(after.pzxid, before.pzxid);
}

TEST_F(session, pings_keep_an_idle_session_alive) {
  c_client zk{shared_server().connect_string(), 2000};
  ASSERT_TRUE(zk.wait_connected());
  const auto id = zk.session().client_id;
  EXPECT_EQ(zk.events.take(2500ms), std::nullopt) << "nothing happens to it";
  EXPECT_EQ(zk.session().client_id, id);
  EXPECT_EQ(blocking_calls(zk)->exists(root).rc, ZOK);
}

TEST_F(session, expires_and_the_client_is_notified) {
  link_proxy link{shared_server().port()};
  c_client zk{link.connect_string(), 400};
  ASSERT_TRUE(zk.wait_connected());
  const auto api = blocking_calls(zk);
  ASSERT_EQ(api->create(root + "/e", "", ZOO_EPHEMERAL).rc, ZOK);
  ASSERT_EQ(api->create(root + "/p", "").rc, ZOK);
  watch e;
  watch own;
  ASSERT_EQ(api->get(root, &own).rc, ZOK);
  ASSERT_EQ(seen->exists(root + "/e", &e).rc, ZOK);
  link.disconnect();
  EXPECT_EQ(e.take(), deleted(root + "/e")) << "without it the server lets the session go";
  EXPECT_EQ(seen->exists(root + "/p").rc, ZOK);
  link.heal();
  EXPECT_TRUE(zk.events.wait_for_state(ZOO_EXPIRED_SESSION_STATE));
  EXPECT_TRUE(is_unrecoverable(zk));
  EXPECT_EQ(api->exists(root).rc, ZINVALIDSTATE);
  EXPECT_EQ(own.size(), 0u);
}

TEST_F(session, expires_while_its_connection_is_silent) {
  link_proxy link{shared_server().port()};
  c_client zk{link.connect_string(), 400};
  ASSERT_TRUE(zk.wait_connected());
  ASSERT_EQ(blocking_calls(zk)->create(root + "/e", "", ZOO_EPHEMERAL).rc, ZOK);
  watch e;
  ASSERT_EQ(seen->exists(root + "/e", &e).rc, ZOK);
  link.blackhole(true);
  EXPECT_EQ(e.take(), deleted(root + "/e"));
  link.blackhole(false);
  link.drop_links();
  EXPECT_TRUE(zk.events.wait_for_state(ZOO_EXPIRED_SESSION_STATE));
}

TEST_F(session, continues_with_another_handle) {
  link_proxy link{shared_server().port()};
  c_client first{link.connect_string()};
  ASSERT_TRUE(first.wait_connected());
  ASSERT_EQ(blocking_calls(first)->create(root + "/e", "", ZOO_EPHEMERAL).rc, ZOK);
  const auto id = first.session();
  link.disconnect();  // otherwise it would reconnect and take over the session again

  c_client second{shared_server().connect_string(), 20000, &id};
  ASSERT_TRUE(second.wait_connected());
  EXPECT_EQ(second.session().client_id, id.client_id);
  const auto api = blocking_calls(second);
  EXPECT_EQ(api->exists(root + "/e").stat.ephemeralOwner, id.client_id);
  watch e;
  ASSERT_EQ(seen->exists(root + "/e", &e).rc, ZOK);
  second.close();
  EXPECT_EQ(e.take(), deleted(root + "/e"));

  link.heal();
  EXPECT_TRUE(first.events.wait_for_state(ZOO_EXPIRED_SESSION_STATE)) << "the session was closed";
}

TEST_F(session, the_newer_connection_wins) {
  link_proxy link{shared_server().port()};
  c_client first{link.connect_string()};
  ASSERT_TRUE(first.wait_connected());
  const auto id = first.session();
  // The handshake is the first frame of a connection. If the old client reconnects, the proxy
  // closes the connection after it.
  link.disconnect_after_client_frames(1, link_proxy::afterwards::refuse_until_heal);

  c_client second{shared_server().connect_string(), 20000, &id};
  ASSERT_TRUE(second.wait_connected());
  EXPECT_TRUE(first.events.wait_for_state(ZOO_CONNECTING_STATE)) << "the server has let go of it";
}

TEST_F(session, a_wrong_password_is_reported_as_an_expired_session) {
  c_client owner{shared_server().connect_string()};
  ASSERT_TRUE(owner.wait_connected());
  ASSERT_EQ(blocking_calls(owner)->create(root + "/e", "", ZOO_EPHEMERAL).rc, ZOK);

  auto guessed = owner.session();
  guessed.passwd[0] = static_cast<char>(guessed.passwd[0] ^ 1);
  c_client thief{shared_server().connect_string(), 20000, &guessed};
  EXPECT_TRUE(thief.events.wait_for_state(ZOO_EXPIRED_SESSION_STATE));
  // Apache's server closes the owner's connection before it checks the password.
  EXPECT_EQ(seen->exists(root + "/e").stat.ephemeralOwner, owner.session().client_id);
}

TEST_F(session, an_unknown_session_is_expired) {
  clientid_t invented{};
  invented.client_id = 0x1234567890abcdef;
  c_client zk{shared_server().connect_string(), 20000, &invented};
  EXPECT_TRUE(zk.events.wait_for_state(ZOO_EXPIRED_SESSION_STATE));
}

TEST_F(session, a_closed_session_cannot_be_continued) {
  c_client zk{shared_server().connect_string()};
  ASSERT_TRUE(zk.wait_connected());
  const auto id = zk.session();
  zk.close();
  c_client late{shared_server().connect_string(), 20000, &id};
  EXPECT_TRUE(late.events.wait_for_state(ZOO_EXPIRED_SESSION_STATE));
}

TEST_F(session, survives_a_client_that_may_be_read_only) {
  c_client zk{shared_server().connect_string(), 20000, nullptr, ZOO_READONLY};
  ASSERT_TRUE(zk.wait_connected()) << "connected for writing, not only for reading";
  EXPECT_EQ(blocking_calls(zk)->create(root + "/a", "").rc, ZOK);
}

TEST_F(session, a_client_can_have_a_chroot) {
  c_client zk{shared_server().connect_string() + root};
  ASSERT_TRUE(zk.wait_connected());
  const auto api = blocking_calls(zk);
  watch w;
  EXPECT_EQ(api->exists("/a", &w).rc, ZNONODE);
  EXPECT_EQ(api->create("/a", "x").path, "/a");
  EXPECT_EQ(w.take(), created("/a"));
  EXPECT_EQ(seen->get(root + "/a").data, "x");
  EXPECT_EQ(api->children("/").children, std::vector<std::string>{"a"});
}

TEST_F(session, a_request_that_is_too_large_ends_the_connection_but_not_the_session) {
  c_client zk{shared_server().connect_string()};
  ASSERT_TRUE(zk.wait_connected());
  const auto id = zk.session().client_id;
  const auto api = blocking_calls(zk);
  EXPECT_EQ(api->create(root + "/fits", std::string(1000000, 'x')).rc, ZOK);
  EXPECT_EQ(api->create(root + "/too_large", std::string(2 << 20, 'x')).rc, ZCONNECTIONLOSS);
  ASSERT_TRUE(zk.wait_connected());
  EXPECT_EQ(zk.session().client_id, id);
  EXPECT_EQ(api->children(root).children, std::vector<std::string>{"fits"});
}

}  // namespace
}  // namespace conclave::testing
