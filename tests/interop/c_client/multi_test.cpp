// Transactions.
#include "fixture.hpp"

namespace conclave::testing {
namespace {

class multi : public both_halves {
 protected:
  static std::vector<int> codes(const reply& r) {
    std::vector<int> rcs;
    for (const auto& result : r.results) rcs.push_back(result.rc);
    return rcs;
  }
};
INSTANTIATE_BOTH_HALVES(multi);

// Without a container, because this version of the library cannot parse the reply.
TEST_P(multi, all_operations_have_one_zxid) {
  ASSERT_EQ(api->create(root + "/old", "1").rc, ZOK);
  ASSERT_EQ(api->create(root + "/gone", "").rc, ZOK);
  const auto r = api->multi({check_op(root + "/old", 0), create_op(root + "/new", "n", 0),
                             create_op(root + "/new/seq-", "", ZOO_EPHEMERAL_SEQUENTIAL),
                             set_op(root + "/old", "three", 0), set_op(root + "/new", "2", 0),
                             remove_op(root + "/gone", 0)});
  ASSERT_EQ(r.rc, ZOK);
  EXPECT_EQ(codes(r), std::vector<int>(6, ZOK));
  EXPECT_EQ(r.results[1].path, root + "/new");
  EXPECT_EQ(r.results[2].path, root + "/new/seq-0000000000");
  EXPECT_EQ(r.results[3].stat.version, 1);
  EXPECT_EQ(r.results[3].stat.dataLength, 5);
  EXPECT_EQ(r.results[4].stat.version, 1);

  EXPECT_EQ(api->children(root).children, (std::vector<std::string>{"new", "old"}));
  EXPECT_EQ(api->get(root + "/old").data, "three");
  EXPECT_EQ(api->get(root + "/new").data, "2");
  const auto made = api->exists(root + "/new").stat;
  EXPECT_EQ(api->exists(root + "/old").stat.mzxid, made.czxid);
  EXPECT_EQ(api->exists(root).stat.pzxid, made.czxid);
  EXPECT_EQ(api->exists(root + "/new/seq-0000000000").stat.ephemeralOwner, zk.session().client_id);
}

TEST_P(multi, one_failure_undoes_all_operations) {
  ASSERT_EQ(api->create(root + "/a", "1").rc, ZOK);
  const auto before = api->exists(root + "/a").stat;
  const auto root_before = api->exists(root).stat;
  const auto r =
      api->multi({create_op(root + "/b", "", 0), set_op(root + "/a", "2", 0),
                  check_op(root + "/a", 7), remove_op(root + "/a"), create_op(root + "/c", "", 0)});
  EXPECT_EQ(r.rc, ZBADVERSION);
  EXPECT_EQ(codes(r), (std::vector<int>{ZOK, ZOK, ZBADVERSION, ZRUNTIMEINCONSISTENCY,
                                        ZRUNTIMEINCONSISTENCY}));
  EXPECT_SAME_STAT(api->exists(root + "/a").stat, before);
  EXPECT_SAME_STAT(api->exists(root).stat, root_before);
  EXPECT_EQ(api->get(root + "/a").data, "1");
}

TEST_P(multi, each_kind_of_failure_has_its_code) {
  ASSERT_EQ(api->create(root + "/a", "").rc, ZOK);
  ASSERT_EQ(api->create(root + "/a/b", "").rc, ZOK);
  ASSERT_EQ(api->create(root + "/e", "", ZOO_EPHEMERAL).rc, ZOK);
  const std::vector<std::pair<op, int>> cases{
      {create_op(root + "/a", "", 0), ZNODEEXISTS},
      {create_op(root + "/x/y", "", 0), ZNONODE},
      {create_op(root + "/e/child", "", 0), ZNOCHILDRENFOREPHEMERALS},
      {remove_op(root + "/x"), ZNONODE},
      {remove_op(root + "/a"), ZNOTEMPTY},
      {remove_op(root + "/a/b", 3), ZBADVERSION},
      {set_op(root + "/x", ""), ZNONODE},
      {set_op(root + "/a", "", 3), ZBADVERSION},
      {check_op(root + "/x", 0), ZNONODE},
      {check_op(root + "/a", 3), ZBADVERSION},
  };
  for (const auto& [failing, code] : cases) {
    const auto r = api->multi({set_op(root, "changed"), failing});
    EXPECT_EQ(r.rc, code) << failing.path;
    EXPECT_EQ(codes(r), (std::vector<int>{ZOK, code})) << failing.path;
  }
  EXPECT_EQ(api->get(root).stat.version, 0);
}

TEST_P(multi, operations_see_earlier_operations) {
  const auto r = api->multi({create_op(root + "/a", "", 0), create_op(root + "/a/b", "", 0),
                             remove_op(root + "/a/b"), set_op(root + "/a", "x", 0),
                             check_op(root + "/a", 1), remove_op(root + "/a", 1)});
  EXPECT_EQ(r.rc, ZOK);
  EXPECT_TRUE(api->children(root).children.empty());
  EXPECT_EQ(api->exists(root).stat.cversion, 2);
}

TEST_P(multi, its_changes_fire_watches) {
  ASSERT_EQ(api->create(root + "/a", "").rc, ZOK);
  watch data;
  watch missing;
  watch list;
  ASSERT_EQ(api->get(root + "/a", &data).rc, ZOK);
  ASSERT_EQ(api->exists(root + "/b", &missing).rc, ZNONODE);
  ASSERT_EQ(api->children(root, &list).rc, ZOK);
  ASSERT_EQ(api->multi({set_op(root + "/a", "x"), check_op("/none", 0)}).rc, ZNONODE);
  catch_up();
  EXPECT_EQ(data.size(), 0u) << "nothing has happened";

  ASSERT_EQ(api->multi({set_op(root + "/a", "x"), create_op(root + "/b", "", 0)}).rc, ZOK);
  EXPECT_EQ(data.take(), changed(root + "/a"));
  EXPECT_EQ(missing.take(), created(root + "/b"));
  EXPECT_EQ(list.take(), children_changed(root));
}

TEST_P(multi, without_operations) { EXPECT_EQ(api->multi({}).rc, ZOK); }

TEST_P(multi, permissions_are_checked_for_each_operation) {
  ASSERT_EQ(api->create(root + "/fixed", "", 0, {{ZOO_PERM_READ, "world", "anyone"}}).rc, ZOK);
  const auto r = api->multi({set_op(root, "x"), set_op(root + "/fixed", "x")});
  EXPECT_EQ(r.rc, ZNOAUTH);
  EXPECT_EQ(codes(r), (std::vector<int>{ZOK, ZNOAUTH}));
  EXPECT_EQ(api->get(root).data, "");
}

}  // namespace
}  // namespace conclave::testing
