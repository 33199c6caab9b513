// Every operation on nodes and each of its errors, on a real server.
#include <algorithm>

#include "integration/harness.hpp"

namespace conclave::testing {
namespace {

class operations : public ::testing::Test {
 protected:
  client zk{shared_server().connect_string()};
};

TEST_F(operations, create_returns_path_and_stat) {
  const auto parent = fresh_node(zk, "create");
  const auto made = zk.create(parent + "/a", "data");
  EXPECT_EQ(made.path, parent + "/a");
  EXPECT_GT(made.stat.czxid, 0);
  EXPECT_EQ(made.stat.czxid, made.stat.mzxid);
  EXPECT_EQ(made.stat.data_length, 4);
  EXPECT_EQ(made.stat.version, 0);
  EXPECT_EQ(made.stat.ephemeral_owner, 0);
  EXPECT_EQ(zk.get(made.path).stat, made.stat);
}

TEST_F(operations, create_errors) {
  const auto parent = fresh_node(zk, "create-errors");
  EXPECT_EQ(code_of([&] { zk.create(parent); }), errc::node_exists);
  EXPECT_EQ(code_of([&] { zk.create(parent + "/no/child"); }), errc::no_node);
  const auto ephemeral = zk.create(parent + "/e", "", create_mode::ephemeral).path;
  EXPECT_EQ(code_of([&] { zk.create(ephemeral + "/child"); }), errc::no_children_for_ephemerals);
  EXPECT_EQ(code_of([&] {
              zk.create(parent + "/bad", "", {create_mode::persistent, acl{{31, "nonsense", "x"}}});
            }),
            errc::invalid_acl);
}

TEST_F(operations, sequential_nodes_have_increasing_numbers) {
  const auto parent = fresh_node(zk, "sequential");
  EXPECT_EQ(zk.create(parent + "/n-", "", create_mode::persistent_sequential).path,
            parent + "/n-0000000000");
  EXPECT_EQ(zk.create(parent + "/", "", create_mode::ephemeral_sequential).path,
            parent + "/0000000001");
}

TEST_F(operations, ephemeral_nodes_belong_to_the_session) {
  const auto parent = fresh_node(zk, "ephemeral");
  std::string path;
  {
    client other{shared_server().connect_string()};
    const auto made = other.create(parent + "/e", "x", create_mode::ephemeral);
    path = made.path;
    EXPECT_EQ(made.stat.ephemeral_owner, other.session_id());
    EXPECT_EQ(other.ephemerals(parent), std::vector<std::string>{path});
    EXPECT_TRUE(zk.ephemerals(parent).empty());
    EXPECT_TRUE(zk.exists(path));
  }
  zk.sync(parent);
  EXPECT_FALSE(zk.exists(path)) << "closing the session removes its nodes at once";
}

TEST_F(operations, containers_and_ttl_nodes) {
  const auto parent = fresh_node(zk, "container");
  EXPECT_EQ(zk.create(parent + "/c", "", create_mode::container).path, parent + "/c");
  zk.create(parent + "/c/child");
  EXPECT_EQ(zk.create(parent + "/t", "", {create_mode::persistent_ttl, 10min}).path, parent + "/t");
  EXPECT_EQ(zk.create(parent + "/s", "", {create_mode::persistent_sequential_ttl, 10min}).path,
            parent + "/s0000000002");
  EXPECT_EQ(code_of([&] { zk.create(parent + "/u", "", create_mode::persistent_ttl); }),
            errc::invalid_argument);
  EXPECT_EQ(code_of([&] {
              zk.create(parent + "/v", "", {create_mode::persistent, 1s});
            }),
            errc::invalid_argument);
}

TEST_F(operations, get_and_set_respect_versions) {
  const auto path = fresh_node(zk, "set");
  EXPECT_EQ(zk.set(path, "one").version, 1);
  EXPECT_EQ(zk.set(path, "two", 1).version, 2);
  EXPECT_EQ(code_of([&] { zk.set(path, "three", 1); }), errc::bad_version);
  EXPECT_EQ(zk.get(path).data, "two");
  EXPECT_EQ(code_of([&] { zk.set(path + "/none", ""); }), errc::no_node);
  EXPECT_EQ(code_of([&] { zk.get(path + "/none"); }), errc::no_node);
}

TEST_F(operations, data_may_be_any_bytes_or_none) {
  const auto path = fresh_node(zk, "bytes");
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  zk.set(path, all);
  EXPECT_EQ(zk.get(path).data, all);
  zk.set(path, "");
  EXPECT_EQ(zk.get(path).data, "");
  const std::string large(900'000, 'x');
  zk.set(path, large);
  EXPECT_EQ(zk.get(path).data, large);
}

TEST_F(operations, exists_on_a_missing_node_is_not_an_error) {
  const auto path = fresh_node(zk, "exists");
  EXPECT_EQ(zk.exists(path), zk.get(path).stat);
  EXPECT_EQ(zk.exists(path + "/none"), std::nullopt);
}

TEST_F(operations, remove) {
  const auto path = fresh_node(zk, "remove");
  zk.create(path + "/a");
  EXPECT_EQ(code_of([&] { zk.remove(path); }), errc::not_empty);
  EXPECT_EQ(code_of([&] { zk.remove(path + "/a", 5); }), errc::bad_version);
  zk.remove(path + "/a", 0);
  EXPECT_EQ(code_of([&] { zk.remove(path + "/a"); }), errc::no_node);
}

TEST_F(operations, children_with_the_parents_stat) {
  const auto path = fresh_node(zk, "children");
  for (const char* name : {"a", "b", "c"}) zk.create(path + "/" + name);
  auto [names, stat] = zk.children(path);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(stat.num_children, 3);
  EXPECT_EQ(code_of([&] { zk.children(path + "/none"); }), errc::no_node);
  EXPECT_EQ(zk.count_descendants(path), 3);
  zk.create(path + "/a/deeper");
  EXPECT_EQ(zk.count_descendants(path), 4);
}

TEST_F(operations, a_large_list_of_children_fits) {
  const auto path = fresh_node(zk, "many");
  const std::string long_name(150, 'n');
  for (int i = 0; i < 80; ++i) {
    transaction t;
    for (int k = 0; k < 100; ++k) t.create(path + "/" + long_name + std::to_string(i * 100 + k));
    zk.commit(t);
  }
  EXPECT_EQ(zk.children(path).names.size(), 8000u) << "the answer is above 1 MiB";
}

TEST_F(operations, sync_and_identity) {
  zk.sync();
  const auto who = zk.who_am_i();
  ASSERT_FALSE(who.empty());
  EXPECT_EQ(who.front(), (identity{"ip", "127.0.0.1"}));
}

TEST_F(operations, paths_are_checked_before_anything_is_sent) {
  for (const char* bad : {"", "a", "/a/", "//a", "/a/../b", "/a/./b", "/nul\x01"}) {
    EXPECT_EQ(code_of([&] { zk.get(bad); }), errc::invalid_path) << bad;
    EXPECT_EQ(code_of([&] { zk.create(bad); }), errc::invalid_path) << bad;
    EXPECT_EQ(code_of([&] { zk.commit(transaction{}.remove(bad)); }), errc::invalid_path) << bad;
  }
}

TEST_F(operations, messages_name_the_operation_and_the_path) {
  try {
    zk.get("/no/such/node");
    FAIL();
  } catch (const error& e) {
    EXPECT_STREQ(e.what(), "get /no/such/node: no such node");
  }
}

TEST_F(operations, a_chroot_is_prepended_to_every_path) {
  const auto root = fresh_node(zk, "chroot");
  client inside{shared_server().connect_string() + root};
  EXPECT_EQ(inside.create("/a", "x").path, "/a");
  EXPECT_EQ(zk.get(root + "/a").data, "x");
  EXPECT_EQ(inside.children("/").names, std::vector<std::string>{"a"});
  EXPECT_EQ(inside.create("/e-", "", create_mode::ephemeral_sequential).path, "/e-0000000001");
  EXPECT_EQ(inside.ephemerals("/"), std::vector<std::string>{"/e-0000000001"});
  const auto result = inside.commit(
      transaction{}.create("/b").create("/s-", "", create_mode::persistent_sequential));
  EXPECT_EQ(result.parts[1].path, "/s-0000000003");
}

TEST_F(operations, names_are_resolved) {
  client by_name{"localhost:" + std::to_string(shared_server().port())};
  EXPECT_TRUE(by_name.exists("/"));
}

TEST_F(operations, a_sequential_child_of_the_chroots_root_stays_inside) {
  const auto root = fresh_node(zk, "inside");
  client inside{shared_server().connect_string() + root};
  EXPECT_EQ(inside.create("/", "", create_mode::ephemeral_sequential).path, "/0000000000");
  const auto result =
      inside.commit(transaction{}.create("/", "", create_mode::ephemeral_sequential));
  EXPECT_EQ(result.parts[0].path, "/0000000001");
  EXPECT_EQ(zk.children(root).names.size(), 2u);
  EXPECT_EQ(inside.ephemerals("/").size(), 2u);
}

}  // namespace
}  // namespace conclave::testing
