// Creating, reading, changing, listing and removing nodes.
#include <chrono>

#include "fixture.hpp"

namespace conclave::testing {
namespace {

std::int64_t milliseconds_now() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

class operations : public both_halves {};
INSTANTIATE_BOTH_HALVES(operations);

TEST_P(operations, a_persistent_node) {
  const auto path = root + "/a";
  const auto before = milliseconds_now();
  EXPECT_EQ(api->create(path, "hello").path, path);

  const auto r = api->get(path);
  ASSERT_EQ(r.rc, ZOK);
  EXPECT_EQ(r.data, "hello");
  EXPECT_EQ(r.stat.mzxid, r.stat.czxid);
  EXPECT_EQ(r.stat.pzxid, r.stat.czxid);
  EXPECT_EQ(r.stat.mtime, r.stat.ctime);
  EXPECT_GE(r.stat.ctime, before);
  EXPECT_LE(r.stat.ctime, milliseconds_now());
  EXPECT_EQ(r.stat.version, 0);
  EXPECT_EQ(r.stat.cversion, 0);
  EXPECT_EQ(r.stat.aversion, 0);
  EXPECT_EQ(r.stat.ephemeralOwner, 0);
  EXPECT_EQ(r.stat.dataLength, 5);
  EXPECT_EQ(r.stat.numChildren, 0);
}

TEST_P(operations, data_may_be_missing_empty_or_binary) {
  ASSERT_EQ(api->create(root + "/null", std::nullopt).rc, ZOK);
  ASSERT_EQ(api->create(root + "/empty", "").rc, ZOK);
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  ASSERT_EQ(api->create(root + "/binary", bytes).rc, ZOK);

  EXPECT_EQ(api->get(root + "/null").data, std::nullopt);
  EXPECT_EQ(api->get(root + "/empty").data, "");
  EXPECT_EQ(api->get(root + "/binary").data, bytes);
  EXPECT_EQ(api->get(root + "/null").stat.dataLength, 0);

  EXPECT_EQ(api->set(root + "/binary", std::nullopt).rc, ZOK);
  EXPECT_EQ(api->get(root + "/binary").data, std::nullopt);
}

TEST_P(operations, names_with_unicode_characters) {
  const auto path = root + "/\xc3\xa4\xe2\x82\xac";  // an a with dots, the euro sign
  EXPECT_EQ(api->create(path, "x").path, path);
  EXPECT_EQ(api->children(root).children, std::vector{path.substr(root.size() + 1)});
  EXPECT_EQ(api->create(root + "/\xf0\x9f\x94\x92", "x").rc, ZBADARGUMENTS)
      << "what Java needs two characters for cannot be a name";
}

TEST_P(operations, an_ephemeral_node) {
  const auto path = root + "/e";
  EXPECT_EQ(api->create(path, "", ZOO_EPHEMERAL).path, path);
  EXPECT_EQ(api->exists(path).stat.ephemeralOwner, zk.session().client_id);
  EXPECT_EQ(api->create(path + "/child", "").rc, ZNOCHILDRENFOREPHEMERALS);
  EXPECT_EQ(api->remove(path).rc, ZOK);
  EXPECT_EQ(api->exists(path).rc, ZNONODE);
}

TEST_P(operations, sequence_numbers_count_every_create) {
  EXPECT_EQ(api->create(root + "/s-", "", ZOO_PERSISTENT_SEQUENTIAL).path, root + "/s-0000000000");
  EXPECT_EQ(api->create(root + "/plain", "").rc, ZOK);
  EXPECT_EQ(api->create(root + "/s-", "", ZOO_EPHEMERAL_SEQUENTIAL).path, root + "/s-0000000002");
  EXPECT_EQ(api->remove(root + "/s-0000000002").rc, ZOK);
  EXPECT_EQ(api->create(root + "/", "", ZOO_PERSISTENT_SEQUENTIAL).path, root + "/0000000003");
  EXPECT_EQ(api->create2(root + "/t", "", ZOO_EPHEMERAL | ZOO_SEQUENCE).path,
            root + "/t0000000004");
  EXPECT_EQ(api->children(root).children,
            (std::vector<std::string>{"0000000003", "plain", "s-0000000000", "t0000000004"}));
  EXPECT_EQ(api->exists(root + "/t0000000004").stat.ephemeralOwner, zk.session().client_id);
}

TEST_P(operations, create2_returns_the_stat) {
  const auto r = api->create2(root + "/a", "hello");
  ASSERT_EQ(r.rc, ZOK);
  EXPECT_EQ(r.path, root + "/a");
  EXPECT_EQ(r.stat.dataLength, 5);
  EXPECT_GT(r.stat.czxid, 0);
  EXPECT_SAME_STAT(r.stat, api->exists(root + "/a").stat);

  const auto e = api->create2(root + "/e", "", ZOO_EPHEMERAL_SEQUENTIAL);
  ASSERT_EQ(e.rc, ZOK);
  EXPECT_EQ(e.stat.ephemeralOwner, zk.session().client_id);
  EXPECT_SAME_STAT(e.stat, api->exists(e.path).stat);
}

TEST_P(operations, create_refuses_invalid_arguments) {
  ASSERT_EQ(api->create(root + "/a", "").rc, ZOK);
  EXPECT_EQ(api->create(root + "/a", "").rc, ZNODEEXISTS);
  EXPECT_EQ(api->create2(root + "/a", "").rc, ZNODEEXISTS);
  EXPECT_EQ(api->create(root + "/missing/a", "").rc, ZNONODE);
  EXPECT_EQ(api->create2(root + "/missing/a", "", ZOO_EPHEMERAL).rc, ZNONODE);
  EXPECT_EQ(api->create("/", "").rc, ZNODEEXISTS);
  EXPECT_EQ(api->exists(root).stat.numChildren, 1);
}

TEST_P(operations, a_container_is_removed_after_its_last_child) {
  const auto path = root + "/box";
  watch gone;
  const auto r = api->create2(path, "data", ZOO_CONTAINER);
  ASSERT_EQ(r.rc, ZOK);
  EXPECT_EQ(r.path, path);
  EXPECT_EQ(api->create(root + "/never_filled", "", ZOO_CONTAINER).rc, ZOK);
  ASSERT_EQ(api->create(path + "/child", "").rc, ZOK);
  const auto seen = api->exists(path, &gone);
  EXPECT_EQ(seen.stat.ephemeralOwner, 0) << "clients cannot tell it from a persistent node";
  EXPECT_EQ(seen.stat.numChildren, 1);
  EXPECT_EQ(api->get(path).data, "data");
  ASSERT_EQ(api->remove(path + "/child").rc, ZOK);

  EXPECT_EQ(gone.take(), deleted(path));
  EXPECT_EQ(api->exists(path).rc, ZNONODE);
  EXPECT_EQ(api->exists(root + "/never_filled").rc, ZOK) << "only what has had children is removed";
}

TEST_P(operations, a_node_with_a_time_to_live) {
  watch gone;
  const auto path = root + "/ttl";
  EXPECT_EQ(api->create_ttl(path, "x", ZOO_PERSISTENT_WITH_TTL, 200).path, path);
  const auto seen = api->exists(path, &gone);
  ASSERT_EQ(seen.rc, ZOK);
  EXPECT_EQ(seen.stat.ephemeralOwner, 0);

  const auto second =
      api->create2_ttl(root + "/n-", "x", ZOO_PERSISTENT_SEQUENTIAL_WITH_TTL, 60000);
  ASSERT_EQ(second.rc, ZOK);
  EXPECT_EQ(second.path, root + "/n-0000000001");
  EXPECT_SAME_STAT(second.stat, api->exists(second.path).stat);
  EXPECT_EQ(api->create_ttl(root + "/n-", "x", ZOO_PERSISTENT_SEQUENTIAL_WITH_TTL, 60000).path,
            root + "/n-0000000002");

  EXPECT_EQ(gone.take(), deleted(path));
  EXPECT_EQ(api->exists(second.path).rc, ZOK);
}

TEST_P(operations, remove_checks_version_and_children) {
  const auto path = root + "/a";
  ASSERT_EQ(api->create(path, "").rc, ZOK);
  ASSERT_EQ(api->set(path, "1").rc, ZOK);
  EXPECT_EQ(api->remove(path, 0).rc, ZBADVERSION);
  EXPECT_EQ(api->remove(path, 1).rc, ZOK);
  EXPECT_EQ(api->remove(path, -1).rc, ZNONODE);

  ASSERT_EQ(api->create(path, "").rc, ZOK);
  ASSERT_EQ(api->create(path + "/child", "").rc, ZOK);
  EXPECT_EQ(api->remove(path).rc, ZNOTEMPTY);
  EXPECT_EQ(api->remove("/").rc, ZBADARGUMENTS);
  EXPECT_EQ(api->remove("/zookeeper").rc, ZBADARGUMENTS);
}

TEST_P(operations, set_counts_versions) {
  const auto path = root + "/a";
  const auto made = api->create2(path, "").stat;
  const auto first = api->set(path, "one", 0);
  ASSERT_EQ(first.rc, ZOK);
  EXPECT_EQ(first.stat.version, 1);
  EXPECT_EQ(first.stat.czxid, made.czxid);
  EXPECT_GT(first.stat.mzxid, made.mzxid);
  EXPECT_EQ(first.stat.pzxid, made.pzxid);
  EXPECT_EQ(first.stat.ctime, made.ctime);
  EXPECT_EQ(first.stat.dataLength, 3);
  EXPECT_EQ(api->set(path, "two", 0).rc, ZBADVERSION);
  EXPECT_EQ(api->set(path, "two").stat.version, 2);
  EXPECT_EQ(api->set(root + "/missing", "").rc, ZNONODE);
  EXPECT_EQ(zoo_set(zk, path.c_str(), "three", 5, 2), ZOK);

  const auto now = api->get(path);
  EXPECT_EQ(now.data, "three");
  EXPECT_SAME_STAT(now.stat, api->exists(path).stat);
}

TEST_P(operations, children_change_the_stat_of_their_parent) {
  const auto at_first = api->exists(root).stat;
  EXPECT_TRUE(api->children(root).children.empty());
  ASSERT_EQ(api->create(root + "/a", "").rc, ZOK);
  const auto b = api->create2(root + "/b", "").stat;
  EXPECT_EQ(api->children(root).children, (std::vector<std::string>{"a", "b"}));

  const auto two = api->children2(root);
  EXPECT_EQ(two.children, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(two.stat.numChildren, 2);
  EXPECT_EQ(two.stat.cversion, 2);
  EXPECT_EQ(two.stat.pzxid, b.czxid);
  EXPECT_EQ(two.stat.mzxid, at_first.mzxid);
  EXPECT_EQ(two.stat.version, 0);
  EXPECT_SAME_STAT(two.stat, api->exists(root).stat);

  ASSERT_EQ(api->remove(root + "/a").rc, ZOK);
  const auto one = api->children2(root);
  EXPECT_EQ(one.children, std::vector<std::string>{"b"});
  EXPECT_EQ(one.stat.cversion, 3);
  EXPECT_GT(one.stat.pzxid, two.stat.pzxid);
  EXPECT_EQ(api->children(root + "/missing").rc, ZNONODE);
  EXPECT_EQ(api->children2(root + "/missing").rc, ZNONODE);
}

TEST_P(operations, every_server_has_the_same_nodes) {
  const auto top = api->children("/").children;
  EXPECT_NE(std::find(top.begin(), top.end(), "zookeeper"), top.end());
  EXPECT_EQ(api->children("/zookeeper").children, (std::vector<std::string>{"config", "quota"}));
  const auto config = api->get_config();
  EXPECT_EQ(config.rc, ZOK);
  EXPECT_EQ(config.data, "") << "the membership, of which a server alone has none";
  int length = 0;
  EXPECT_EQ(
      zoo_reconfig(zk, nullptr, nullptr, "server.1=127.0.0.1:1:2;3", -1, nullptr, &length, nullptr),
      ZUNIMPLEMENTED);
}

TEST_P(operations, reads_of_missing_nodes) {
  EXPECT_EQ(api->exists(root + "/a").rc, ZNONODE);
  EXPECT_EQ(api->get(root + "/a").rc, ZNONODE);
  EXPECT_EQ(api->get_acl(root + "/a").rc, ZNONODE);
  EXPECT_EQ(api->set_acl(root + "/a", open_acl()).rc, ZNONODE);
}

TEST_P(operations, sync_returns_the_path) {
  EXPECT_EQ(sync(zk, root).path, root);
  EXPECT_EQ(sync(zk, root + "/missing").rc, ZOK);
}

TEST_P(operations, many_requests_at_once_are_answered_in_order) {
  struct order {
    std::mutex mutex;
    std::vector<std::string> paths;
    std::condition_variable all;
  } seen;
  constexpr std::size_t count = 1000;
  for (std::size_t i = 0; i < count; ++i) {
    const auto on_created = [](int rc, const char* path, const void* context) {
      auto& o = *static_cast<order*>(const_cast<void*>(context));
      const std::lock_guard lock{o.mutex};
      o.paths.emplace_back(rc == ZOK ? path : zerror(rc));
      if (o.paths.size() == count) o.all.notify_all();
    };
    ASSERT_EQ(zoo_acreate(zk, (root + "/n").c_str(), "", 0, &ZOO_OPEN_ACL_UNSAFE,
                          ZOO_EPHEMERAL_SEQUENTIAL, on_created, &seen),
              ZOK);
  }
  std::unique_lock lock{seen.mutex};
  ASSERT_TRUE(seen.all.wait_for(lock, wait_limit, [&] { return seen.paths.size() == count; }));
  EXPECT_EQ(seen.paths.front(), root + "/n0000000000");
  EXPECT_EQ(seen.paths.back(), root + "/n0000000999");
  EXPECT_TRUE(std::is_sorted(seen.paths.begin(), seen.paths.end()));
}

}  // namespace
}  // namespace conclave::testing
