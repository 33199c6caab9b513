// A later start loads exactly the committed rows.

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "row_model.hpp"
#include "server/core/access.hpp"
#include "server/store/memory_store.hpp"
#include "server/store/sqlite_store.hpp"
#include "server/store/store_error.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::server_impl {
namespace {

using testing::first_batch;
using testing::owned_batch;
using testing::plain_node;
using testing::row_model;

unsigned mode_of(const std::filesystem::path& file) {
  struct stat found {};
  EXPECT_EQ(::stat(file.c_str(), &found), 0) << file;
  return found.st_mode & 0777U;
}

class round_trip : public ::testing::Test {
 protected:
  void commit(const owned_batch& made) {
    sqlite_store{folder}.commit(made.changes);
    model.apply(made.changes);
  }
  void expect_kept() { EXPECT_EQ(difference(model, sqlite_store{folder}.load()), ""); }

  testing::temporary_directory scratch;
  std::filesystem::path folder = scratch.path() / "data";
  row_model model;
};

TEST_F(round_trip, a_folder_that_was_never_used_starts_empty) {
  const auto deep = folder / "made" / "too";
  {
    sqlite_store store{deep};
    const auto found = store.load();
    EXPECT_EQ(found.zxid, 0);
    EXPECT_TRUE(found.nodes.empty());
    EXPECT_TRUE(found.sessions.empty());
    EXPECT_EQ(mode_of(deep / "conclave.db"), 0600U);
    EXPECT_EQ(mode_of(deep / "conclave.db-wal"), 0600U);
    EXPECT_FALSE(exists(deep / "conclave.db-shm"));
  }
  EXPECT_EQ(mode_of(folder), 0700U);
  EXPECT_EQ(mode_of(deep), 0700U);
  EXPECT_FALSE(exists(deep / "conclave.db-wal")) << "closing runs a checkpoint";
  EXPECT_EQ(sqlite_store{deep}.load().zxid, 0) << "and so does the second start";
}

TEST_F(round_trip, every_field) {
  constexpr auto low = std::numeric_limits<std::int64_t>::min();
  constexpr auto high = std::numeric_limits<std::int64_t>::max();
  auto made = first_batch(high);
  auto row = plain_node(high);
  row.access = std::make_shared<const acl>(
      acl{{31, "digest", "bob:\"'; --"}, {-9, "%:", std::string{"\0\x80\xff", 3}}});
  row.mzxid = low;
  row.ctime_ms = low;
  row.mtime_ms = high;
  row.version = std::numeric_limits<std::int32_t>::min();
  row.aversion = std::numeric_limits<std::int32_t>::max();
  row.kind = node_kind::ephemeral;
  row.owner = low;
  row.ttl_ms = high;
  made.put("/e", row);
  row.kind = node_kind::container;
  made.put("/c", row);
  row.kind = node_kind::ttl;
  made.put("/t", row);
  made.changes.parents.push_back({"/c", {std::numeric_limits<std::int32_t>::min(), low}});
  session_row s{low, 30000, {}};
  s.password = {'\0', 'p', '\xff', '\''};
  made.changes.sessions = {s, {high, -1, {}}, {0, 1, {}}};
  commit(made);
  expect_kept();
}

// The store writes these ids with three bytes for each byte.
TEST_F(round_trip, the_largest_acl) {
  const acl_entry shortest{31, "digest", "u:h"};
  const auto bytes = shortest.scheme.size() + shortest.id.size();
  acl largest(max_acl_entries, shortest);
  largest.back().id.insert(0, max_acl_bytes - max_acl_entries * bytes, '%');
  auto made = first_batch(5);
  auto row = plain_node(5);
  row.access = std::make_shared<const acl>(std::move(largest));
  made.put("/a", row);
  commit(made);
  expect_kept();
}

TEST_F(round_trip, null_empty_and_large_data) {
  auto made = first_batch(5);
  made.put("/null", plain_node(5));
  made.rows.back().second.data.reset();
  made.put("/empty", plain_node(5));
  made.put("/zeros", plain_node(5, std::string(3, '\0')));
  made.put("/large", plain_node(5, std::string(1 << 20, 'x')));
  commit(made);
  expect_kept();

  owned_batch next;  // other data for the same nodes
  next.changes.zxid = 6;
  next.put("/null", plain_node(5));
  next.put("/empty", plain_node(5));
  next.rows.back().second.data.reset();
  next.put("/large", plain_node(5, "small"));
  commit(next);
  expect_kept();
}

TEST_F(round_trip, any_bytes_in_a_path) {
  auto made = first_batch(5);
  for (const auto* path : {"/it's \"quoted\"", "/%_*?[x]", "/\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x92",
                           "/\xff\xfe\x80", "/ \n\t", "/a-b", "/a/b", "/a.b"}) {
    made.put(path, plain_node(5, path));
  }
  made.put(std::string{"/a\0b", 4}, plain_node(5));
  commit(made);
  expect_kept();

  owned_batch next;
  next.changes.zxid = 6;
  next.changes.removed_nodes = {"/\xff\xfe\x80", "/it's \"quoted\"", std::string{"/a\0b", 4}};
  commit(next);
  expect_kept();
}

TEST_F(round_trip, removed_and_created_again_in_one_batch) {
  auto made = first_batch(5);
  made.changes.parents.push_back({"/a", {7, 4}});
  commit(made);
  owned_batch next;
  next.changes.zxid = 6;
  next.changes.removed_nodes = {"/a"};
  next.put("/a", plain_node(6));
  commit(next);
  expect_kept();  // without the old count of children
}

TEST_F(round_trip, a_batch_may_contain_only_a_zxid) {
  commit(first_batch(5));
  owned_batch next;
  next.changes.zxid = 1'700'000'000'000'000;
  commit(next);
  expect_kept();
}

TEST_F(round_trip, a_zxid_never_decreases) {
  sqlite_store store{folder};
  store.commit(first_batch(5).changes);
  EXPECT_THROW(store.commit(first_batch(4).changes), store_error);
  EXPECT_EQ(store.load().zxid, 5);
}

TEST_F(round_trip, equal_lists_are_shared) {
  commit(first_batch(5));
  const auto found = sqlite_store{folder}.load();
  ASSERT_EQ(found.nodes.size(), 2U);
  EXPECT_EQ(found.nodes[0].row.access, found.nodes[1].row.access);
}

TEST_F(round_trip, random_histories) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    std::mt19937_64 random{seed};
    model = {};
    folder = scratch.path() / std::to_string(seed);
    for (int run = 0; run < 3; ++run) {
      sqlite_store store{folder, {.wal_bytes = 1 << 16}};
      EXPECT_EQ(difference(model, store.load()), "") << "seed " << seed << ", run " << run;
      for (int i = 0; i < 30; ++i) {
        const auto made = random_batch(model, random);
        store.commit(made.changes);
        model.apply(made.changes);
        if (i % 7 == 0) {
          ASSERT_EQ(difference(model, store.load()), "") << "seed " << seed;
        }
      }
    }
    EXPECT_GT(model.nodes.size(), 10U);
  }
}

TEST(memory_store, stores_nothing) {
  memory_store store;
  store.commit(first_batch(5).changes);
  EXPECT_EQ(store.load().zxid, 0);
  EXPECT_TRUE(store.load().nodes.empty());
}

}  // namespace
}  // namespace conclave::server_impl
