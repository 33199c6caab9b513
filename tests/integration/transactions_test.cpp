// Transactions and groups of reads on a real server.
#include "integration/harness.hpp"

namespace conclave::testing {
namespace {

class transactions : public ::testing::Test {
 protected:
  client zk{shared_server().connect_string()};
  std::string root = fresh_node(zk, "tx");
};

TEST_F(transactions, all_parts_happen_with_one_zxid) {
  zk.create(root + "/old");
  zk.create(root + "/kept", "1");
  const auto result = zk.commit(transaction{}
                                    .check(root + "/kept", 0)
                                    .create(root + "/new-", "n", create_mode::persistent_sequential)
                                    .create(root + "/container", "", create_mode::container)
                                    .create(root + "/ttl", "", {create_mode::persistent_ttl, 1min})
                                    .set(root + "/kept", "2")
                                    .remove(root + "/old"));
  ASSERT_EQ(result.parts.size(), 6u);
  for (const auto& part : result.parts) EXPECT_FALSE(part.ec) << part.ec;
  EXPECT_EQ(result.parts[1].path, root + "/new-0000000002");
  EXPECT_EQ(result.parts[2].path, root + "/container");
  EXPECT_EQ(result.parts[4].stat.version, 1);
  EXPECT_EQ(zk.get(result.parts[1].path).stat.czxid, result.zxid);
  EXPECT_EQ(result.parts[4].stat.mzxid, result.zxid);
  EXPECT_FALSE(zk.exists(root + "/old"));
}

TEST_F(transactions, a_failed_one_changes_nothing_and_names_the_part) {
  try {
    zk.commit(transaction{}.create(root + "/a").remove(root + "/none").create(root + "/b"));
    FAIL();
  } catch (const transaction_error& e) {
    EXPECT_EQ(e.code(), errc::no_node);
    EXPECT_EQ(e.failed_part(), 1u);
    ASSERT_EQ(e.result().parts.size(), 3u);
    EXPECT_FALSE(e.result().parts[0].ec);
    EXPECT_EQ(e.result().parts[1].ec, errc::no_node);
    EXPECT_EQ(e.result().parts[2].ec, errc::runtime_inconsistency);
  }
  EXPECT_TRUE(zk.children(root).names.empty());
}

TEST_F(transactions, each_kind_of_part_can_fail) {
  EXPECT_EQ(code_of([&] { zk.commit(transaction{}.check(root, 7)); }), errc::bad_version);
  EXPECT_EQ(code_of([&] { zk.commit(transaction{}.check(root + "/none")); }), errc::no_node);
  EXPECT_EQ(code_of([&] { zk.commit(transaction{}.create(root)); }), errc::node_exists);
  EXPECT_EQ(code_of([&] { zk.commit(transaction{}.set(root, "", 7)); }), errc::bad_version);
  EXPECT_EQ(code_of([&] { zk.commit(transaction{}.remove(root, 7)); }), errc::bad_version);
}

TEST_F(transactions, invalid_transactions_are_not_sent) {
  const create_options no_ttl{create_mode::persistent_ttl};
  EXPECT_EQ(code_of([&] { zk.commit(transaction{}.create(root + "/a", "", no_ttl)); }),
            errc::invalid_argument);
  EXPECT_EQ(code_of([&] { zk.read(read_group{}.get("a")); }), errc::invalid_path);
}

TEST_F(transactions, an_empty_one_succeeds) { EXPECT_TRUE(zk.commit(transaction{}).parts.empty()); }

TEST_F(transactions, parts_see_those_before_them) {
  const auto result =
      zk.commit(transaction{}.create(root + "/p").create(root + "/p/c").set(root + "/p", "x", 0));
  EXPECT_EQ(result.parts[2].stat.version, 1);
}

TEST_F(transactions, reads_in_a_group_have_separate_results) {
  zk.create(root + "/a", "A");
  const auto results = zk.read(read_group{}.get(root + "/a").get(root + "/none").children(root));
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].data, "A");
  EXPECT_EQ(results[0].stat.data_length, 1);
  EXPECT_EQ(results[1].ec, errc::no_node);
  EXPECT_FALSE(results[2].ec);
  EXPECT_EQ(results[2].names, std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace conclave::testing
