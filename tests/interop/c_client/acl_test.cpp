// Access control.
#include "fixture.hpp"

namespace conclave::testing {
namespace {

class acl : public both_halves {
 protected:
  void SetUp() override {
    both_halves::SetUp();
    ASSERT_TRUE(other.wait_connected());
    other_client = calls_on(other);
  }

  c_client other{shared_server().connect_string()};
  std::unique_ptr<calls> other_client;
};
INSTANTIATE_BOTH_HALVES(acl);

// base64(sha1("kim:secret"))
constexpr auto kims_digest = "kim:6f+g7hYczr/AZpGvOugOc8w3yg4=";

TEST_P(acl, the_default_is_open) {
  const auto r = api->get_acl(root);
  EXPECT_EQ(r.acl, open_acl());
  EXPECT_SAME_STAT(r.stat, api->exists(root).stat);
}

TEST_P(acl, each_permission_restricts_its_operations) {
  const auto path = root + "/a";
  const auto only = [&](int perms) {
    return api->set_acl(path, {{perms | ZOO_PERM_ADMIN, "world", "anyone"}}).rc;
  };
  ASSERT_EQ(api->create(path, "").rc, ZOK);

  ASSERT_EQ(only(ZOO_PERM_READ), ZOK);
  EXPECT_EQ(api->get(path).rc, ZOK);
  EXPECT_EQ(api->children(path).rc, ZOK);
  EXPECT_EQ(api->set(path, "x").rc, ZNOAUTH);
  EXPECT_EQ(api->create(path + "/child", "").rc, ZNOAUTH);

  ASSERT_EQ(only(ZOO_PERM_WRITE), ZOK);
  EXPECT_EQ(api->set(path, "x").rc, ZOK);
  EXPECT_EQ(api->get(path).rc, ZNOAUTH);
  EXPECT_EQ(api->children(path).rc, ZNOAUTH);
  EXPECT_EQ(api->children2(path).rc, ZNOAUTH);
  EXPECT_EQ(api->exists(path).rc, ZOK) << "exists needs no permission";

  ASSERT_EQ(only(ZOO_PERM_CREATE), ZOK);
  EXPECT_EQ(api->create(path + "/child", "").rc, ZOK);
  EXPECT_EQ(api->remove(path + "/child").rc, ZNOAUTH);

  ASSERT_EQ(only(ZOO_PERM_DELETE), ZOK);
  EXPECT_EQ(api->remove(path + "/child").rc, ZOK) << "the parent's list counts";

  ASSERT_EQ(api->set_acl(path, {{ZOO_PERM_READ, "world", "anyone"}}).rc, ZOK);
  EXPECT_EQ(api->set_acl(path, open_acl()).rc, ZNOAUTH);
  EXPECT_EQ(api->remove(path).rc, ZOK) << "its own list does not";
}

TEST_P(acl, acl_versions) {
  EXPECT_EQ(api->set_acl(root, open_acl(), 1).rc, ZBADVERSION);
  EXPECT_EQ(api->set_acl(root, open_acl(), 0).rc, ZOK);
  const auto r = api->get_acl(root);
  EXPECT_EQ(r.stat.aversion, 1);
  EXPECT_EQ(r.stat.version, 0);
}

TEST_P(acl, invalid_lists_are_refused) {
  const auto create = [&](std::vector<acl_entry> list) {
    return api->create(root + "/a", "", 0, list).rc;
  };
  EXPECT_EQ(create({}), ZINVALIDACL);
  EXPECT_EQ(create({{ZOO_PERM_ALL, "auth", ""}}), ZINVALIDACL) << "nobody has logged in";
  EXPECT_EQ(create({{ZOO_PERM_ALL, "digest", "no_colon"}}), ZINVALIDACL);
  EXPECT_EQ(create({{ZOO_PERM_ALL, "ip", "not.an.address"}}), ZINVALIDACL);
  EXPECT_EQ(create({{ZOO_PERM_ALL, "world", "somebody"}}), ZINVALIDACL);
  EXPECT_EQ(create({{ZOO_PERM_ALL, "unheard_of", "x"}}), ZINVALIDACL);
  EXPECT_EQ(api->exists(root + "/a").rc, ZNONODE);
}

TEST_P(acl, digest_of_a_user_and_a_password) {
  const auto path = root + "/a";
  ASSERT_EQ(api->create(path, "x", 0, {{ZOO_PERM_ALL, "digest", kims_digest}}).rc, ZOK);
  EXPECT_EQ(other_client->get(path).rc, ZNOAUTH);
  EXPECT_EQ(other_client->get_acl(path).rc, ZNOAUTH);
  ASSERT_EQ(add_auth(other, "digest", "kim:wrong").rc, ZOK) << "any password makes an identity";
  EXPECT_EQ(other_client->get(path).rc, ZNOAUTH);
  ASSERT_EQ(add_auth(other, "digest", "kim:secret").rc, ZOK);
  EXPECT_EQ(other_client->get(path).data, "x");
  EXPECT_EQ(other_client->get_acl(path).acl,
            (std::vector<acl_entry>{{ZOO_PERM_ALL, "digest", kims_digest}}));
}

TEST_P(acl, auth_means_the_creator) {
  ASSERT_EQ(add_auth(zk, "digest", "kim:secret").rc, ZOK);
  ASSERT_EQ(add_auth(zk, "digest", "second:secret").rc, ZOK);
  const auto path = root + "/a";
  ASSERT_EQ(api->create(path, "x", 0, {{ZOO_PERM_ALL, "auth", ""}}).rc, ZOK);
  const auto entries = api->get_acl(path).acl;
  ASSERT_EQ(entries.size(), 2u) << "one for each identity";
  EXPECT_NE(
      std::find(entries.begin(), entries.end(), acl_entry{ZOO_PERM_ALL, "digest", kims_digest}),
      entries.end());
  EXPECT_EQ(other_client->set(path, "y").rc, ZNOAUTH);
  EXPECT_EQ(api->set(path, "y").rc, ZOK);

  ASSERT_EQ(api->set_acl(root, {{ZOO_PERM_READ, "world", "anyone"}, {ZOO_PERM_ALL, "auth", ""}}).rc,
            ZOK);
  EXPECT_EQ(api->get_acl(root).acl.size(), 3u);
  EXPECT_EQ(other_client->get(root).rc, ZOK);
  EXPECT_EQ(other_client->create(root + "/b", "").rc, ZNOAUTH);
}

TEST_P(acl, digests_are_hidden_without_admin_permission) {
  const auto path = root + "/a";
  ASSERT_EQ(api->create(path, "", 0,
                        {{ZOO_PERM_READ, "world", "anyone"}, {ZOO_PERM_ALL, "digest", kims_digest}})
                .rc,
            ZOK);
  EXPECT_EQ(api->get_acl(path).acl, (std::vector<acl_entry>{{ZOO_PERM_READ, "world", "anyone"},
                                                            {ZOO_PERM_ALL, "digest", "kim:x"}}));
}

TEST_P(acl, addresses) {
  const auto create = [&](const std::string& name, const std::string& address) {
    return api->create(root + name, "x", 0, {{ZOO_PERM_ALL, "ip", address}}).rc;
  };
  ASSERT_EQ(create("/host", "127.0.0.1"), ZOK);
  ASSERT_EQ(create("/network", "127.0.0.0/8"), ZOK);
  ASSERT_EQ(create("/other_host", "10.1.2.3"), ZOK);
  ASSERT_EQ(create("/other_network", "127.0.0.2/31"), ZOK);
  EXPECT_EQ(other_client->get(root + "/host").rc, ZOK);
  EXPECT_EQ(other_client->get(root + "/network").rc, ZOK);
  EXPECT_EQ(other_client->get(root + "/other_host").rc, ZNOAUTH);
  EXPECT_EQ(other_client->get(root + "/other_network").rc, ZNOAUTH);
  EXPECT_EQ(other_client->get_acl(root + "/host").acl,
            (std::vector<acl_entry>{{ZOO_PERM_ALL, "ip", "127.0.0.1"}}));
}

TEST_P(acl, super_may_do_everything) {
  const auto path = root + "/a";
  ASSERT_EQ(api->create(path, "x", 0, {{ZOO_PERM_ALL, "digest", kims_digest}}).rc, ZOK);
  ASSERT_EQ(add_auth(other, "digest", "super:test").rc, ZOK);
  EXPECT_EQ(other_client->get(path).data, "x");
  EXPECT_EQ(other_client->set_acl(path, open_acl()).rc, ZOK);
  EXPECT_EQ(api->get(path).rc, ZOK);
}

TEST_P(acl, the_servers_own_nodes_are_protected) {
  EXPECT_EQ(api->set("/zookeeper/config", "x").rc, ZNOAUTH);
  EXPECT_EQ(api->get("/zookeeper/config").rc, ZOK);
}

TEST_P(acl, an_unknown_scheme_ends_the_session) {
  EXPECT_EQ(add_auth(other, "unheard_of", "x").rc, ZAUTHFAILED);
  EXPECT_TRUE(other.events.wait_for_state(ZOO_AUTH_FAILED_STATE));
  EXPECT_EQ(other_client->exists(root).rc, ZINVALIDSTATE);
}

}  // namespace
}  // namespace conclave::testing
