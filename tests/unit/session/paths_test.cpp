// Node paths. The table follows ZooKeeper's PathUtils.validatePath(), which its servers ask.

#include "session/paths.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace conclave::session {
namespace {

using namespace std::string_view_literals;

TEST(valid_path, allowed) {
  for (const auto path : {
           "/"sv,
           "/a"sv,
           "/a/b"sv,
           "/a-b_c.d/0000000001"sv,
           "/a b"sv,
           "/ "sv,
           "/..."sv,
           "/.a"sv,
           "/a."sv,
           "/..a"sv,
           "/a.."sv,
           "/a/.../b"sv,
           "/~"sv,
           "/\\"sv,
           "/%2f"sv,
           "/\u00a0"sv,         // the first above the control characters
           "/\u00e9/\u4e16"sv,  // two and three bytes
           "/\xed\x9f\xbf"sv,   // the last below the surrogates
           "/\uf900"sv,
           "/\uffef"sv,
       })
    EXPECT_TRUE(valid_path(path)) << path;
}

TEST(valid_path, refused) {
  for (const auto path : {
           ""sv,       "a"sv,       "a/b"sv,     " /a"sv,     "//"sv,      "/a/"sv,     "//a"sv,
           "/a//b"sv,  "/."sv,      "/.."sv,     "/a/."sv,    "/a/.."sv,   "/./a"sv,    "/../a"sv,
           "/a/./b"sv, "/a/../b"sv, "/\0"sv,     "/a\0b"sv,   "/\x01"sv,   "/\x1f"sv,   "/a\n"sv,
           "/\x7f"sv,  "/\u0080"sv, "/\u009f"sv, "/\ue000"sv, "/\uf8ff"sv, "/\ufff0"sv, "/\uffff"sv,
       })
    EXPECT_FALSE(valid_path(path)) << path;
}

// Java sees two surrogates there, and ZooKeeper refuses those.
TEST(valid_path, refuses_what_takes_four_bytes) {
  EXPECT_FALSE(valid_path("/\U00010000"));
  EXPECT_FALSE(valid_path("/\U0001f600"));
  EXPECT_FALSE(valid_path("/\U0010ffff"));
}

TEST(valid_path, refuses_malformed_utf8) {
  for (const auto path : {
           "/\x80"sv,              // a continuation alone
           "/\xc3"sv,              // cut off
           "/\xe4\xb8"sv,          // cut off
           "/\xf0\x9f\x98"sv,      // cut off
           "/\xc3/a"sv,            // no continuation
           "/\xc0\xaf"sv,          // a slash in two bytes
           "/\xe0\x80\xaf"sv,      // in three
           "/\xf0\x80\x80\xaf"sv,  // in four
           "/\xed\xa0\x80"sv,      // a surrogate
           "/\xf4\x90\x80\x80"sv,  // above the last code point
           "/\xf8\x88\x80\x80\x80"sv,
           "/\xff"sv,
           "/\xfe"sv,
       })
    EXPECT_FALSE(valid_path(path));
}

TEST(chroot, is_put_before_every_path) {
  EXPECT_EQ(with_chroot("", "/"), "/");
  EXPECT_EQ(with_chroot("", "/a"), "/a");
  EXPECT_EQ(with_chroot("/app", "/"), "/app");
  EXPECT_EQ(with_chroot("/app", "/a/b"), "/app/a/b");
}

TEST(chroot, is_taken_off_again) {
  EXPECT_EQ(without_chroot("", "/a"), "/a");
  EXPECT_EQ(without_chroot("/app", "/app"), "/");
  EXPECT_EQ(without_chroot("/app", "/app/a/b"), "/a/b");
}

TEST(chroot, what_is_in_it) {
  EXPECT_TRUE(in_chroot("", "/a"));
  EXPECT_TRUE(in_chroot("/app", "/app"));
  EXPECT_TRUE(in_chroot("/app", "/app/a"));
  EXPECT_FALSE(in_chroot("/app", "/apple"));
  EXPECT_FALSE(in_chroot("/app", "/ap"));
  EXPECT_FALSE(in_chroot("/app", "/"));
  EXPECT_FALSE(in_chroot("/app", ""));
}

TEST(chroot, paths_outside_stay_as_they_are) {
  EXPECT_EQ(without_chroot("/app", "/"), "/");
  EXPECT_EQ(without_chroot("/app", "/apple"), "/apple");
  EXPECT_EQ(without_chroot("/app", "/other/app"), "/other/app");
  EXPECT_EQ(without_chroot("/app", ""), "");
}

}  // namespace
}  // namespace conclave::session
