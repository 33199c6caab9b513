// The chroot of node paths.
#include "session/paths.hpp"

#include <gtest/gtest.h>

namespace conclave::session {
namespace {

TEST(chroot, is_prepended_to_every_path) {
  EXPECT_EQ(with_chroot("", "/"), "/");
  EXPECT_EQ(with_chroot("", "/a"), "/a");
  EXPECT_EQ(with_chroot("/app", "/"), "/app");
  EXPECT_EQ(with_chroot("/app", "/a/b"), "/app/a/b");
}

TEST(chroot, is_removed_from_paths) {
  EXPECT_EQ(without_chroot("", "/a"), "/a");
  EXPECT_EQ(without_chroot("/app", "/app"), "/");
  EXPECT_EQ(without_chroot("/app", "/app/a/b"), "/a/b");
}

TEST(chroot, contains_its_descendants) {
  EXPECT_TRUE(in_chroot("", "/a"));
  EXPECT_TRUE(in_chroot("/app", "/app"));
  EXPECT_TRUE(in_chroot("/app", "/app/a"));
  EXPECT_FALSE(in_chroot("/app", "/apple"));
  EXPECT_FALSE(in_chroot("/app", "/ap"));
  EXPECT_FALSE(in_chroot("/app", "/"));
  EXPECT_FALSE(in_chroot("/app", ""));
}

TEST(chroot, leaves_paths_outside_unchanged) {
  EXPECT_EQ(without_chroot("/app", "/"), "/");
  EXPECT_EQ(without_chroot("/app", "/apple"), "/apple");
  EXPECT_EQ(without_chroot("/app", "/other/app"), "/other/app");
  EXPECT_EQ(without_chroot("/app", ""), "");
}

}  // namespace
}  // namespace conclave::session
