// The table follows ZooKeeper's PathUtils.validatePath().
#include "base/valid_path.hpp"

#include <gtest/gtest.h>

namespace conclave {
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
           ""sv,        "a"sv,       "a/b"sv,     " /a"sv,     "//"sv,      "/a/"sv,
           "//a"sv,     "/a//b"sv,   "/."sv,      "/.."sv,     "/a/."sv,    "/a/.."sv,
           "/./a"sv,    "/../a"sv,   "/a/./b"sv,  "/a/../b"sv, "/\0"sv,     "/a\0b"sv,
           "/\x01"sv,   "/\x1f"sv,   "/a\n"sv,    "/\x7f"sv,   "/\u0080"sv, "/\u009f"sv,
           "/\ue000"sv, "/\uf8ff"sv, "/\ufff0"sv, "/\uffff"sv, "/\ufffd"sv,
       })
    EXPECT_FALSE(valid_path(path)) << path;
}

// In Java these are two surrogates, which ZooKeeper refuses.
TEST(valid_path, refuses_characters_of_four_bytes) {
  EXPECT_FALSE(valid_path("/\U00010000"));
  EXPECT_FALSE(valid_path("/\U0001f600"));
  EXPECT_FALSE(valid_path("/\U0010ffff"));
}

TEST(valid_path, refuses_malformed_utf8) {
  for (const auto path : {
           "/\x80"sv,  // a continuation byte alone
           "/\xbf"sv,
           "/\xc3"sv,          // truncated
           "/\xe4\xb8"sv,      // truncated
           "/\xf0\x9f\x98"sv,  // truncated
           "/\xc3/a"sv,        // no continuation byte
           "/\xe4\xb8/a"sv,
           "/\xc1\xbf"sv,
           "/\xc0\xaf"sv,          // a slash in two bytes
           "/\xe0\x80\xaf"sv,      // in three
           "/\xf0\x80\x80\xaf"sv,  // in four
           "/\xe0\x9f\xbf"sv,      // a two-byte character in three
           "/\xed\xa0\x80"sv,      // the first surrogate
           "/\xed\xbf\xbf"sv,      // the last surrogate
           "/\xf4\x90\x80\x80"sv,  // above the last code point
           "/\xf8\x88\x80\x80\x80"sv,
           "/\xff"sv,
           "/\xfe"sv,
       })
    EXPECT_FALSE(valid_path(path));
}

}  // namespace
}  // namespace conclave
