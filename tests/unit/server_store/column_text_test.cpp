// The text format of ACLs.

#include "server/store/column_text.hpp"

#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace conclave::server_impl {
namespace {

TEST(acl_text, parses_readable_text) {
  EXPECT_EQ(acl_to_text({{31, "world", "anyone"}}), "world:anyone:cdrwa");
  EXPECT_EQ(acl_to_text({{1, "ip", "10.0.0.0/8"}, {6, "digest", "bob:x8sd/+="}}),
            "ip:10.0.0.0/8:r digest:bob:x8sd/+=:cw");
  EXPECT_EQ(acl_to_text({{31, "x509", "CN=a b,O=c"}}), "x509:CN=a%20b,O=c:cdrwa");
  EXPECT_EQ(acl_to_text({{0, "a:b", ""}, {-1, "", "\xc3\xa9%"}}), "a%3ab::0 :%c3%a9%25:-1");
  EXPECT_EQ(acl_to_text({}), "");
}

TEST(acl_text, round_trips_any_list) {
  std::mt19937_64 random{7};
  const auto bytes = [&random] {
    std::string out(random() % 12, '\0');
    for (auto& c : out) c = static_cast<char>(random());
    return out;
  };
  for (int round = 0; round < 2000; ++round) {
    acl list(random() % 4);
    for (auto& entry : list) {
      entry = {static_cast<std::int32_t>(random() % 2 == 0 ? random() % 32 : random()), bytes(),
               bytes()};
    }
    const auto text = acl_to_text(list);
    for (const char c : text) EXPECT_TRUE(c >= ' ' && c <= '~') << text;
    EXPECT_EQ(acl_from_text(text), list) << text;
  }
  const acl extremes{{std::numeric_limits<std::int32_t>::min(), "s", "i"},
                     {std::numeric_limits<std::int32_t>::max(), "s", "i"}};
  EXPECT_EQ(acl_from_text(acl_to_text(extremes)), extremes);
}

TEST(acl_text, other_texts_are_refused) {
  for (const auto* text :
       {"world", "world:anyone", "world:anyone:", "world:anyone:x", "world:anyone:1x",
        "world:anyone:99999999999", "world:any%:r", "world:any%4:r", "world:any%zz:r",
        "world:anyone:r ", " world:anyone:r", "world:anyone:r  world:anyone:r"}) {
    EXPECT_EQ(acl_from_text(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace conclave::server_impl
