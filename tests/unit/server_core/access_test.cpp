// Permission checks and validation of ACLs.

#include "server/core/access.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace conclave::server_impl {
namespace {

using acl_records = std::vector<wire::acl_record>;

bool lets_in(const acl& access, const identities& who) {
  return allowed(access, permission::read, who);
}

// The ACL that the server stores, or nullopt if the ACL is not valid.
std::optional<acl> validate_acl(const acl_records& sent, const identities& who) {
  if (!is_valid_acl(sent, who)) return std::nullopt;
  return expand_acl(sent, who);
}

acl readable_by(std::string scheme, std::string id) {
  return {{permission::read, std::move(scheme), std::move(id)}};
}

TEST(allowed, world_matches_every_client) {
  EXPECT_TRUE(lets_in(readable_by("world", "anyone"), {}));
  EXPECT_TRUE(lets_in(readable_by("world", "anyone"), {{"ip", "10.0.0.1"}}));
  EXPECT_FALSE(lets_in(readable_by("world", "someone"), {{"world", "someone"}}));
}

TEST(allowed, one_of_the_permissions_is_enough) {
  const acl both = readable_by("world", "anyone");
  EXPECT_TRUE(allowed(both, permission::read | permission::admin, {}));
  for (const auto other : {permission::write, permission::create, permission::remove,
                           permission::admin, permission::write | permission::admin})
    EXPECT_FALSE(allowed(both, other, {})) << other;
}

TEST(allowed, a_digest_must_be_equal) {
  const auto access = readable_by("digest", digest_of("ann:secret"));
  EXPECT_TRUE(lets_in(access, {{"digest", digest_of("ann:secret")}}));
  EXPECT_TRUE(lets_in(access, {{"ip", "10.0.0.1"}, {"digest", digest_of("ann:secret")}}));
  EXPECT_FALSE(lets_in(access, {{"digest", digest_of("ann:other")}}));
  EXPECT_FALSE(lets_in(access, {{"digest", digest_of("bob:secret")}}));
  EXPECT_FALSE(lets_in(access, {{"ip", digest_of("ann:secret")}}));
  EXPECT_FALSE(lets_in(access, {}));
}

TEST(allowed, one_matching_entry_is_enough) {
  const acl access{{permission::write, "world", "anyone"},
                   {permission::read, "digest", digest_of("ann:secret")},
                   {permission::read, "ip", "10.0.0.1"}};
  EXPECT_TRUE(lets_in(access, {{"digest", digest_of("ann:secret")}}));
  EXPECT_TRUE(lets_in(access, {{"ip", "10.0.0.1"}}));
  EXPECT_FALSE(lets_in(access, {{"ip", "10.0.0.2"}}));
}

TEST(allowed, the_superuser_is_allowed_everything) {
  EXPECT_TRUE(allowed({{0, "world", "anyone"}}, permission::admin, {{"super", ""}}));
  EXPECT_TRUE(lets_in(readable_by("ip", "10.0.0.1"), {{"ip", "1.1.1.1"}, {"super", ""}}));
}

TEST(allowed, an_empty_acl_allows_everything) { EXPECT_TRUE(allowed({}, permission::admin, {})); }

TEST(allowed, addresses_and_networks) {
  const auto matches = [](const char* address, const char* expression) {
    return lets_in(readable_by("ip", expression), {{"ip", address}});
  };
  EXPECT_TRUE(matches("10.1.2.3", "10.1.2.3"));
  EXPECT_FALSE(matches("10.1.2.4", "10.1.2.3"));
  EXPECT_TRUE(matches("10.1.2.3", "10.1.2.3/32"));
  EXPECT_FALSE(matches("10.1.2.2", "10.1.2.3/32"));
  EXPECT_TRUE(matches("10.1.2.2", "10.1.2.3/31"));
  EXPECT_FALSE(matches("10.1.2.4", "10.1.2.3/31"));
  EXPECT_TRUE(matches("10.255.255.255", "10.0.0.0/8"));
  EXPECT_FALSE(matches("11.0.0.0", "10.0.0.0/8"));
  EXPECT_TRUE(matches("10.15.0.0", "10.0.0.0/12"));
  EXPECT_FALSE(matches("10.16.0.0", "10.0.0.0/12"));
  EXPECT_TRUE(matches("192.168.129.1", "192.168.255.0/17"));
  EXPECT_FALSE(matches("192.168.127.1", "192.168.255.0/17"));
  EXPECT_TRUE(matches("1.2.3.4", "255.255.255.255/0"));
  EXPECT_TRUE(matches("fd00::1", "fd00::1"));
  EXPECT_TRUE(matches("fd12::9", "fd00::/8"));
  EXPECT_FALSE(matches("fe00::9", "fd00::/8"));
  EXPECT_FALSE(matches("10.0.0.1", "::/0")) << "another family";
  EXPECT_FALSE(matches("::1", "0.0.0.0/0")) << "another family";
  EXPECT_FALSE(matches("not an address", "0.0.0.0/0"));
}

TEST(valid_acl, checks_the_id_of_each_scheme) {
  const auto valid = [](std::string_view scheme, std::string_view id) {
    return validate_acl(acl_records{{31, scheme, id}}, {}).has_value();
  };
  EXPECT_TRUE(valid("world", "anyone"));
  EXPECT_FALSE(valid("world", "someone"));
  EXPECT_FALSE(valid("world", ""));
  EXPECT_TRUE(valid("digest", "ann:hash"));
  EXPECT_TRUE(valid("digest", ":hash"));
  EXPECT_FALSE(valid("digest", "ann"));
  EXPECT_FALSE(valid("digest", "ann:"));
  EXPECT_FALSE(valid("digest", ""));
  EXPECT_FALSE(valid("digest", ":"));
  EXPECT_FALSE(valid("digest", "a:b:c"));
  EXPECT_TRUE(valid("digest", "a:b:")) << "as Java's split() has it";
  EXPECT_TRUE(valid("ip", "10.0.0.1"));
  EXPECT_TRUE(valid("ip", "10.0.0.0/0"));
  EXPECT_TRUE(valid("ip", "10.0.0.0/32"));
  EXPECT_TRUE(valid("ip", "fd00::/128"));
  for (const auto* bad : {"", "10.0.0", "10.0.0.256", "10.0.0.1/", "10.0.0.1/33", "10.0.0.1/-1",
                          "10.0.0.1/8x", "10.0.0.1/8/8", "fd00::/129", "localhost", "1.2.3.4.5"})
    EXPECT_FALSE(valid("ip", bad)) << bad;
  EXPECT_FALSE(valid("super", ""));
  EXPECT_FALSE(valid("sasl", "ann"));
  EXPECT_FALSE(valid("x509", "CN=ann"));
  EXPECT_FALSE(valid("", ""));
  EXPECT_FALSE(valid({}, {})) << "a null scheme";
}

TEST(valid_acl, must_have_an_entry_and_only_valid_ones) {
  EXPECT_FALSE(validate_acl({}, {}));
  EXPECT_FALSE(validate_acl(acl_records{{31, "world", "anyone"}, {31, "nonsense", "x"}}, {}));
}

TEST(valid_acl, keeps_all_permission_bits) {
  for (const std::int32_t p : {0, 1, 31, 32, -1})
    EXPECT_EQ(validate_acl(acl_records{{p, "world", "anyone"}}, {}), (acl{{p, "world", "anyone"}}));
}

TEST(valid_acl, duplicates_are_dropped) {
  EXPECT_EQ(
      validate_acl(
          acl_records{{1, "world", "anyone"}, {2, "world", "anyone"}, {1, "world", "anyone"}}, {}),
      (acl{{1, "world", "anyone"}, {2, "world", "anyone"}}));
}

TEST(valid_acl, auth_expands_to_the_identities_of_the_client) {
  const identities who{{"ip", "10.0.0.1"}, {"digest", "ann:1"}, {"super", ""}, {"digest", "bob:2"}};
  EXPECT_EQ(validate_acl(acl_records{{7, "auth", "whatever"}}, who),
            (acl{{7, "digest", "ann:1"}, {7, "digest", "bob:2"}}))
      << "an address proves nothing";
  EXPECT_EQ(validate_acl(acl_records{{7, "digest", "ann:1"}, {7, "auth", ""}}, who),
            (acl{{7, "digest", "ann:1"}, {7, "digest", "ann:1"}, {7, "digest", "bob:2"}}))
      << "duplicates are those that were sent";
}

TEST(valid_acl, auth_without_an_identity_is_invalid) {
  EXPECT_FALSE(validate_acl(acl_records{{31, "auth", ""}}, {}));
  EXPECT_FALSE(validate_acl(acl_records{{31, "auth", ""}}, {{"ip", "10.0.0.1"}}));
  EXPECT_FALSE(validate_acl(acl_records{{31, "world", "anyone"}, {31, "auth", ""}}, {}));
}

TEST(valid_acl, has_at_most_a_thousand_entries) {
  std::vector<std::string> users;
  for (int i = 0; i < 1001; ++i) users.push_back("user" + std::to_string(i) + ":hash");
  const auto list = [&](std::size_t n) {
    acl_records r;
    for (std::size_t i = 0; i < n; ++i) r.push_back({1, "digest", users[i]});
    return r;
  };
  EXPECT_EQ(validate_acl(list(1000), {})->size(), 1000u);
  EXPECT_FALSE(validate_acl(list(1001), {}));
  // "auth" can expand to many entries.
  identities who;
  for (std::size_t i = 0; i < 20; ++i) who.push_back({"digest", users[i]});
  acl_records several;
  for (std::int32_t i = 0; i < 51; ++i) several.push_back({i, "auth", ""});
  EXPECT_FALSE(validate_acl(several, who));
  several.pop_back();
  EXPECT_EQ(validate_acl(several, who)->size(), 1000u);
}

TEST(digest, matches_the_digest_of_apache) {
  EXPECT_EQ(digest_of("super:test"), "super:D/InIHSb7yEEbrWz8b9l71RjZJU=");
  EXPECT_EQ(digest_of("user:with:colons").substr(0, 5), "user:");
  EXPECT_EQ(digest_of("nobody").substr(0, 7), "nobody:");
  EXPECT_EQ(digest_of("").substr(0, 1), ":");
}

TEST(digest, can_be_masked) {
  EXPECT_EQ(masked_digest("ann:hash"), "ann:x");
  EXPECT_EQ(masked_digest("ann:"), "ann:x");
}

}  // namespace
}  // namespace conclave::server_impl
