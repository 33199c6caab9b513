// After a reconnect or a restart of the server, a client still has its session, ephemeral nodes and
// watches, and gets the missed events.
#include "fixture.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

constexpr int opcode_set_watches = 101;

// `zk` reaches the server through a proxy, `other` does not.
class reconnect : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(zk.wait_connected());
    ASSERT_TRUE(other.wait_connected());
    root = fresh_node(other, "r");
  }

  link_proxy link{shared_server().port()};
  c_client zk{link.connect_string()};
  c_client other{shared_server().connect_string()};
  std::unique_ptr<calls> api = blocking_calls(zk);
  std::unique_ptr<calls> elsewhere = blocking_calls(other);
  std::string root;
};

TEST_F(reconnect, the_session_and_its_nodes_are_kept) {
  const auto session = zk.session().client_id;
  ASSERT_EQ(api->create(root + "/e", "", ZOO_EPHEMERAL).rc, ZOK);
  for (const auto how : {link_proxy::ending::fin, link_proxy::ending::reset}) {
    link.drop_links(how);
    ASSERT_TRUE(zk.events.wait_for_state(ZOO_CONNECTING_STATE));
    ASSERT_TRUE(zk.wait_connected());
    EXPECT_EQ(zk.session().client_id, session);
    EXPECT_EQ(api->exists(root + "/e").stat.ephemeralOwner, session);
  }
}

TEST_F(reconnect, watches_of_every_kind_are_set_again) {
  watch data;
  watch missing;
  watch present;
  watch list;
  ASSERT_EQ(api->create(root + "/present", "").rc, ZOK);
  ASSERT_EQ(api->get(root, &data).rc, ZOK);
  ASSERT_EQ(api->exists(root + "/missing", &missing).rc, ZNONODE);
  ASSERT_EQ(api->exists(root + "/present", &present).rc, ZOK);
  ASSERT_EQ(api->children(root, &list).rc, ZOK);
  link.drop_links();
  ASSERT_TRUE(zk.events.wait_for_state(ZOO_CONNECTING_STATE));
  ASSERT_TRUE(zk.wait_connected());
  ASSERT_EQ(sync(zk, "/").rc, ZOK);
  EXPECT_EQ(link.requests(opcode_set_watches), 1u);
  EXPECT_EQ(data.size() + missing.size() + present.size() + list.size(), 0u)
      << "nothing has happened";

  ASSERT_EQ(elsewhere->set(root, "x").rc, ZOK);
  EXPECT_EQ(data.take(), changed(root));
  ASSERT_EQ(elsewhere->create(root + "/missing", "").rc, ZOK);
  EXPECT_EQ(missing.take(), created(root + "/missing"));
  EXPECT_EQ(list.take(), children_changed(root));
  ASSERT_EQ(elsewhere->remove(root + "/present").rc, ZOK);
  EXPECT_EQ(present.take(), deleted(root + "/present"));
}

TEST_F(reconnect, missed_events_are_delivered) {
  std::vector<watch> w(8);
  for (const auto* const name : {"/data", "/gone", "/list", "/list_gone", "/twice", "/same"})
    ASSERT_EQ(api->create(root + name, "").rc, ZOK);
  ASSERT_EQ(api->get(root + "/data", &w[0]).rc, ZOK);
  ASSERT_EQ(api->get(root + "/gone", &w[1]).rc, ZOK);
  ASSERT_EQ(api->children(root + "/list", &w[2]).rc, ZOK);
  ASSERT_EQ(api->children(root + "/list_gone", &w[3]).rc, ZOK);
  ASSERT_EQ(api->exists(root + "/made", &w[4]).rc, ZNONODE);
  ASSERT_EQ(api->exists(root + "/twice", &w[5]).rc, ZOK);
  ASSERT_EQ(api->exists(root + "/still_missing", &w[6]).rc, ZNONODE);
  ASSERT_EQ(api->get(root + "/same", &w[7]).rc, ZOK);

  link.disconnect();
  ASSERT_TRUE(zk.events.wait_for_state(ZOO_CONNECTING_STATE));
  ASSERT_EQ(elsewhere->set(root + "/data", "x").rc, ZOK);
  ASSERT_EQ(elsewhere->remove(root + "/gone").rc, ZOK);
  ASSERT_EQ(elsewhere->create(root + "/list/child", "").rc, ZOK);
  ASSERT_EQ(elsewhere->remove(root + "/list_gone").rc, ZOK);
  ASSERT_EQ(elsewhere->create(root + "/made", "").rc, ZOK);
  ASSERT_EQ(elsewhere->remove(root + "/twice").rc, ZOK);
  ASSERT_EQ(elsewhere->create(root + "/twice", "").rc, ZOK);
  link.heal();
  ASSERT_TRUE(zk.wait_connected());

  EXPECT_EQ(w[0].take(), changed(root + "/data"));
  EXPECT_EQ(w[1].take(), deleted(root + "/gone"));
  EXPECT_EQ(w[2].take(), children_changed(root + "/list"));
  EXPECT_EQ(w[3].take(), deleted(root + "/list_gone"));
  EXPECT_EQ(w[4].take(), created(root + "/made"));
  EXPECT_EQ(w[5].take(), changed(root + "/twice")) << "another node of the same name";
  ASSERT_EQ(sync(zk, "/").rc, ZOK);
  EXPECT_EQ(w[6].size(), 0u);
  EXPECT_EQ(w[7].size(), 0u);

  // These two watches are still set.
  ASSERT_EQ(elsewhere->create(root + "/still_missing", "").rc, ZOK);
  EXPECT_EQ(w[6].take(), created(root + "/still_missing"));
  ASSERT_EQ(elsewhere->set(root + "/same", "x").rc, ZOK);
  EXPECT_EQ(w[7].take(), changed(root + "/same"));
}

TEST_F(reconnect, a_long_list_of_watches) {  // some 300 KiB, in one request
  const std::string padding(200, 'p');
  std::vector<std::unique_ptr<watch>> all;
  for (int i = 0; i < 1500; ++i) {
    all.push_back(std::make_unique<watch>());
    const auto path = root + "/" + padding + std::to_string(i);
    ASSERT_EQ(api->exists(path, all.back().get()).rc, ZNONODE);
  }
  link.disconnect();
  ASSERT_TRUE(zk.events.wait_for_state(ZOO_CONNECTING_STATE));
  ASSERT_EQ(elsewhere->create(root + "/" + padding + "0", "").rc, ZOK);
  link.heal();
  ASSERT_TRUE(zk.wait_connected());
  EXPECT_EQ(all.front()->take(), created(root + "/" + padding + "0"));
  ASSERT_EQ(elsewhere->create(root + "/" + padding + "1499", "").rc, ZOK);
  EXPECT_EQ(all.back()->take(), created(root + "/" + padding + "1499"));
}

TEST_F(reconnect, authentication_is_kept) {
  ASSERT_EQ(add_auth(zk, "digest", "kim:secret").rc, ZOK);
  ASSERT_EQ(api->create(root + "/a", "x", 0, {{ZOO_PERM_ALL, "auth", ""}}).rc, ZOK);
  link.drop_links();
  ASSERT_TRUE(zk.events.wait_for_state(ZOO_CONNECTING_STATE));
  ASSERT_TRUE(zk.wait_connected());
  EXPECT_EQ(api->get(root + "/a").data, "x");
  EXPECT_EQ(elsewhere->get(root + "/a").rc, ZNOAUTH);
}

TEST_F(reconnect, a_request_whose_reply_was_lost_was_executed) {
  constexpr int opcode_create = 1;
  link.drop_reply_to(opcode_create);
  EXPECT_EQ(api->create(root + "/a", "").rc, ZCONNECTIONLOSS);
  EXPECT_EQ(elsewhere->exists(root + "/a").rc, ZOK);
  ASSERT_TRUE(zk.wait_connected());
  link.drop_request(opcode_create);
  EXPECT_EQ(api->create(root + "/b", "").rc, ZCONNECTIONLOSS);
  EXPECT_EQ(elsewhere->exists(root + "/b").rc, ZNONODE);
  ASSERT_TRUE(zk.wait_connected());
  EXPECT_EQ(api->children(root).children, std::vector<std::string>{"a"});
}

// A separate server that the test can stop.
class restart : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(zk.wait_connected());
    root = fresh_node(zk, "s");
  }
  void end_server() {
    if (std::string(GetParam()) == "killed")
      server.kill();
    else
      server.stop_gracefully();
  }

  zookeeper_server server{quick_server()};
  // Apache's server may never answer a client that connects while it starts, so the timeout is
  // short.
  c_client zk{server.connect_string(), 6000};
  std::unique_ptr<calls> api = blocking_calls(zk);
  std::string root;
};
INSTANTIATE_TEST_SUITE_P(c, restart, ::testing::Values("killed", "stopped"),
                         [](const auto& how) -> std::string { return how.param; });

TEST_P(restart, the_session_nodes_and_watches_are_kept) {
  const auto session = zk.session();
  watch data;
  watch missing;
  watch list;
  ASSERT_EQ(api->create(root + "/e", "kept", ZOO_EPHEMERAL_SEQUENTIAL).rc, ZOK);
  ASSERT_EQ(api->create(root + "/box", "", ZOO_CONTAINER).rc, ZOK);
  ASSERT_EQ(api->create_ttl(root + "/ttl", "", ZOO_PERSISTENT_WITH_TTL, 60000).rc, ZOK);
  ASSERT_EQ(api->set_acl(root + "/box", {{ZOO_PERM_READ, "world", "anyone"}}).rc, ZOK);
  ASSERT_EQ(api->get(root, &data).rc, ZOK);
  ASSERT_EQ(api->exists(root + "/missing", &missing).rc, ZNONODE);
  ASSERT_EQ(api->children(root, &list).rc, ZOK);
  const auto before = api->exists(root + "/e0000000000").stat;

  end_server();
  ASSERT_TRUE(zk.events.wait_for_state(ZOO_CONNECTING_STATE));
  EXPECT_EQ(api->get(root).rc, ZCONNECTIONLOSS);
  server.start_again();
  ASSERT_TRUE(zk.wait_connected());

  EXPECT_EQ(zk.session().client_id, session.client_id);
  EXPECT_SAME_STAT(api->exists(root + "/e0000000000").stat, before);
  EXPECT_EQ(api->get(root + "/e0000000000").data, "kept");
  EXPECT_EQ(api->get_acl(root + "/box").acl,
            (std::vector<acl_entry>{{ZOO_PERM_READ, "world", "anyone"}}));
  EXPECT_EQ(data.size() + missing.size() + list.size(), 0u) << "nothing has happened";

  c_client other{server.connect_string()};
  ASSERT_TRUE(other.wait_connected());
  const auto elsewhere = blocking_calls(other);
  ASSERT_EQ(elsewhere->set(root, "x").rc, ZOK);
  EXPECT_EQ(data.take(), changed(root));
  ASSERT_EQ(elsewhere->create(root + "/missing", "").rc, ZOK);
  EXPECT_EQ(missing.take(), created(root + "/missing"));
  EXPECT_EQ(list.take(), children_changed(root));
  const auto next = api->create2(root + "/n-", "", ZOO_PERSISTENT_SEQUENTIAL);
  EXPECT_EQ(next.path, root + "/n-0000000004") << "it goes on counting";
  EXPECT_GT(next.stat.czxid, before.czxid);
}

}  // namespace
}  // namespace conclave::testing
