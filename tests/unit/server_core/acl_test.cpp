// ACLs of nodes, and identities of connections.

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

using namespace std::string_view_literals;

const auto ann = digest_of("ann:secret");
const auto bob = digest_of("bob:secret");

acl for_digest(std::int32_t permissions, const std::string& digest) {
  return {{permissions, "digest", digest}};
}

struct access_control : ::testing::Test {
  test_server server;
  client& nobody = server.open_session();

  client& someone(std::string_view credentials) {
    auto& c = server.open_session();
    EXPECT_EQ(c.ask(auth("digest", credentials)), ok);
    return c;
  }
};

TEST_F(access_control, each_permission_allows_its_own_operations) {
  struct {
    std::int32_t permission;
    request allowed;
    std::string_view name;
  } const cases[] = {
      {permission::read, get("/n"), "read"},
      {permission::read, children("/n"), "children"},
      {permission::write, set("/n", "x"), "write"},
      {permission::create, create("/n/new"), "create"},
      {permission::remove, remove("/n/child"), "delete"},
      {permission::admin, set_acl("/n", open_to_all()), "admin"},
  };
  for (const auto& c : cases) {
    for (const auto& other : cases) {
      test_server fresh;
      auto& root = fresh.open_session();
      root.ask(create("/n"));
      root.ask(create("/n/child"));
      root.ask(set_acl("/n", world(other.permission)));
      EXPECT_EQ(root.ask(c.allowed), c.permission == other.permission ? ok : errc::no_auth)
          << c.name << " with the permission to " << other.name;
    }
  }
}

TEST_F(access_control, a_node_for_one_user) {
  auto& owner = someone("ann:secret");
  auto& other = someone("bob:secret");
  nobody.ask(create("/a", "data", mode::persistent, for_digest(all_permissions, ann)));
  EXPECT_EQ(nobody.ask(get("/a")), errc::no_auth) << "the creator has no other permissions";
  EXPECT_EQ(other.ask(get("/a")), errc::no_auth);
  EXPECT_EQ(owner.ask(get("/a")), ok);
  EXPECT_EQ(owner.ask(set("/a", "x")), ok);
}

TEST_F(access_control, rights_are_not_inherited) {
  nobody.ask(create("/a"));
  nobody.ask(set_acl("/a", world(permission::create)));
  EXPECT_EQ(nobody.ask(create("/a/b")), ok);
  EXPECT_EQ(nobody.ask(get("/a/b")), ok);
}

TEST_F(access_control, auth_is_replaced_by_the_creator) {
  auto& owner = someone("ann:secret");
  const acl mine{{all_permissions, "auth", ""}};
  EXPECT_EQ(nobody.ask(create_with("/a", mine)), errc::invalid_acl);
  EXPECT_EQ(owner.ask(create_with("/a", mine)), ok);
  EXPECT_EQ(owner.ask(get_acl("/a")).acl, for_digest(all_permissions, ann));
  EXPECT_EQ(nobody.ask(get("/a")), errc::no_auth);
  EXPECT_EQ(*server.stored().nodes.at("/a").row.access, for_digest(all_permissions, ann));
}

// The server caches the last ACL. The cached ACL must not be used for another client's "auth".
TEST_F(access_control, auth_expands_for_each_client_separately) {
  auto& first = someone("ann:secret");
  auto& second = someone("bob:secret");
  const acl mine{{all_permissions, "auth", ""}};
  first.ask(create_with("/a", mine));
  second.ask(create_with("/b", mine));
  EXPECT_EQ(nobody.ask(create_with("/c", mine)), errc::invalid_acl);
  EXPECT_EQ(second.ask(get_acl("/b")).acl, for_digest(all_permissions, bob));
  EXPECT_EQ(second.ask(get("/a")), errc::no_auth);
  second.ask(create_with("/d", for_digest(all_permissions, bob)));
  first.ask(create_with("/e", mine));
  EXPECT_EQ(first.ask(get_acl("/e")).acl, for_digest(all_permissions, ann));
}

TEST_F(access_control, an_expanded_auth_acl_is_not_reused) {
  auto& owner = someone("ann:secret");
  const acl_entry mine{all_permissions, "digest", ann};
  owner.ask(create_with("/a", {mine, {all_permissions, "auth", ""}}));
  EXPECT_EQ(owner.ask(get_acl("/a")).acl, (acl{mine, mine}));
  owner.ask(create_with("/b", {mine, mine}));
  EXPECT_EQ(owner.ask(get_acl("/b")).acl, acl{mine}) << "these are duplicates";
}

TEST_F(access_control, several_users_at_once) {
  auto& both = someone("ann:secret");
  EXPECT_EQ(both.ask(auth("digest", "bob:secret")), ok);
  both.ask(create_with("/a", for_digest(all_permissions, ann)));
  both.ask(create_with("/b", for_digest(all_permissions, bob)));
  EXPECT_EQ(both.ask(get("/a")), ok);
  EXPECT_EQ(both.ask(get("/b")), ok);
}

TEST_F(access_control, identities_belong_to_the_connection) {
  auto& before = someone("ann:secret");
  before.ask(create_with("/a", for_digest(all_permissions, ann)));
  auto& after = server.reconnect(before);
  EXPECT_EQ(after.ask(get("/a")), errc::no_auth);
  after.ask(auth("digest", "ann:secret"));
  EXPECT_EQ(after.ask(get("/a")), ok);
}

TEST_F(access_control, by_address) {
  nobody.ask(create_with("/one", {{all_permissions, "ip", "10.1.2.3"}}));
  nobody.ask(create_with("/net", {{all_permissions, "ip", "10.1.0.0/16"}}));
  auto& same_address = server.open_session(10s, {"10.1.2.3", 0});
  auto& same_network = server.open_session(10s, {"10.1.9.9", 0});
  auto& other_network = server.open_session(10s, {"10.2.2.3", 0});
  auto& local = server.open_local_session();
  EXPECT_EQ(same_address.ask(get("/one")), ok);
  EXPECT_EQ(same_network.ask(get("/one")), errc::no_auth);
  EXPECT_EQ(same_address.ask(get("/net")), ok);
  EXPECT_EQ(same_network.ask(get("/net")), ok);
  EXPECT_EQ(other_network.ask(get("/net")), errc::no_auth);
  EXPECT_EQ(local.ask(get("/net")), errc::no_auth) << "a Unix socket has no address";
}

TEST_F(access_control, the_superuser) {
  auto& super = someone("super:secret");
  auto& not_super = someone("super:other");
  nobody.ask(create_with("/a", for_digest(0, ann)));
  EXPECT_EQ(super.ask(get("/a")), ok);
  EXPECT_EQ(super.ask(set_acl("/a", open_to_all())), ok);
  EXPECT_EQ(super.ask(set("/zookeeper/config", "x")), ok);
  EXPECT_EQ(super.ask(remove("/zookeeper")), errc::bad_arguments);
  super.ask(set_acl("/a", for_digest(0, ann)));
  EXPECT_EQ(not_super.ask(get("/a")), errc::no_auth);
}

TEST(superuser, does_not_exist_unless_configured) {
  auto options = default_options();
  options.super_digest.clear();
  test_server server{options};
  auto& c = server.open_session();
  c.ask(create_with("/a", for_digest(0, ann)));
  for (const auto credentials : {""sv, ":"sv, "super:"sv, "super:secret"sv}) {
    EXPECT_EQ(c.ask(auth("digest", credentials)), ok);
    EXPECT_EQ(c.ask(get("/a")), errc::no_auth);
  }
}

// --- getACL

TEST_F(access_control, get_acl_requires_read_or_admin) {
  nobody.ask(create_with("/read", world(permission::read)));
  nobody.ask(create_with("/admin", world(permission::admin)));
  nobody.ask(
      create_with("/other", world(all_permissions & ~(permission::read | permission::admin))));
  EXPECT_EQ(nobody.ask(get_acl("/read")), ok);
  EXPECT_EQ(nobody.ask(get_acl("/admin")), ok);
  EXPECT_EQ(nobody.ask(get_acl("/other")), errc::no_auth);
  EXPECT_EQ(nobody.ask(get_acl("/missing")), errc::no_node);
}

TEST_F(access_control, get_acl_returns_the_stat) {
  nobody.ask(create("/a", "data"));
  EXPECT_EQ(nobody.ask(get_acl("/a")).stat, nobody.ask(exists("/a")).stat);
}

TEST_F(access_control, digests_are_masked_for_clients_that_may_only_read) {
  const acl access{{permission::read, "world", "anyone"},
                   {all_permissions, "digest", ann},
                   {permission::write, "ip", "10.0.0.0/8"}};
  nobody.ask(create_with("/a", access));
  auto masked = access;
  masked[1].id = "ann:x";
  EXPECT_EQ(nobody.ask(get_acl("/a")).acl, masked);
  EXPECT_EQ(someone("bob:secret").ask(get_acl("/a")).acl, masked);
  EXPECT_EQ(someone("ann:secret").ask(get_acl("/a")).acl, access);
  EXPECT_EQ(someone("super:secret").ask(get_acl("/a")).acl, access);
}

TEST_F(access_control, survives_a_crash) {
  const acl access{{permission::read, "world", "anyone"}, {all_permissions, "digest", ann}};
  nobody.ask(create_with("/a", access));
  auto& owner = someone("ann:secret");
  owner.ask(set_acl("/a", for_digest(all_permissions, ann)));
  server.crash();
  auto& again = server.reconnect(owner);
  EXPECT_EQ(again.ask(get("/a")), errc::no_auth);
  again.ask(auth("digest", "ann:secret"));
  EXPECT_EQ(again.ask(get_acl("/a")).acl, for_digest(all_permissions, ann));
  EXPECT_EQ(again.ask(get_acl("/a")).stat.aversion, 1);
}

// --- addAuth

TEST_F(access_control, the_reply_to_auth_has_no_zxid) {
  EXPECT_EQ(nobody.ask(auth("digest", "ann:secret")).zxid, 0);
  EXPECT_EQ(nobody.ask(auth("ip", "")), ok);
}

TEST_F(access_control, an_unknown_scheme_ends_the_connection) {
  for (const auto scheme : {"sasl", "world", "super", "x509", ""}) {
    auto& c = server.open_session();
    server.turn([&] {
      c.send(auth(scheme, "ann:secret"));
      c.send(create("/after"));
    });
    EXPECT_EQ(c.next_reply(), errc::auth_failed) << scheme;
    EXPECT_EQ(c.unread_replies(), 0u);
    EXPECT_TRUE(c.closed());
    EXPECT_TRUE(server.core().awaits_reconnect(c.session()));
  }
  EXPECT_FALSE(server.stored().nodes.contains("/after"));
}

TEST_F(access_control, a_connection_has_at_most_32_identities) {
  auto& c = server.open_session();  // has one identity: its address
  for (int i = 1; i < 32; ++i) EXPECT_EQ(c.ask(auth("digest", std::to_string(i) + ":x")), ok);
  EXPECT_EQ(c.ask(who_am_i()).acl.size(), 32u);
  EXPECT_EQ(c.ask(auth("digest", "1:x")), ok) << "the connection has this identity already";
  EXPECT_EQ(c.ask(auth("digest", "32:x")), errc::auth_failed);
  EXPECT_TRUE(c.closed());
}

// The id of the identity that these credentials give has this many bytes.
std::string credentials_of_size(std::size_t bytes, char first = 'a') {
  const auto hash_and_colon = digest_of(":").size();
  return first + std::string(bytes - hash_and_colon - 1, '%') + ":secret";
}

TEST_F(access_control, an_identity_has_a_limited_size) {
  auto& largest = server.open_session();
  EXPECT_EQ(largest.ask(auth("digest", credentials_of_size(1024))), ok);
  EXPECT_EQ(largest.ask(auth("digest", "ann:" + std::string(100'000, 'p'))), ok)
      << "the length of a password does not matter";
  auto& larger = server.open_session();
  EXPECT_EQ(larger.ask(auth("digest", credentials_of_size(1025))), errc::auth_failed);
  EXPECT_TRUE(larger.closed());
}

TEST_F(access_control, the_identities_of_a_connection_have_a_limited_size) {
  auto& c = server.open_local_session();
  for (const char user : std::string{"12345678"})
    EXPECT_EQ(c.ask(auth("digest", credentials_of_size(1024, user))), ok);
  EXPECT_EQ(c.ask(auth("digest", credentials_of_size(1024, '1'))), ok) << "not a new identity";
  EXPECT_EQ(c.ask(auth("digest", "ann:secret")), errc::auth_failed);
  EXPECT_TRUE(c.closed());
}

// --- the size of an ACL

TEST_F(access_control, an_acl_has_a_limited_size) {
  const auto entry = [](std::size_t bytes) {
    const acl_entry shortest{all_permissions, "digest", "u:h"};
    auto e = shortest;
    e.id.insert(0, bytes - shortest.scheme.size() - shortest.id.size(), '%');
    return e;
  };
  const acl largest{entry(65'000), entry(536)};
  EXPECT_EQ(nobody.ask(create_with("/a", largest)), ok);
  EXPECT_EQ(*server.stored().nodes.at("/a").row.access, largest);
  EXPECT_EQ(nobody.ask(create_with("/b", {entry(65'000), entry(537)})), errc::invalid_acl);
  EXPECT_EQ(nobody.ask(create_with("/b", acl(3, entry(30'000)))), errc::invalid_acl)
      << "duplicates count";
  EXPECT_EQ(nobody.ask(set_acl("/a", {entry(65'537)})), errc::invalid_acl);
  EXPECT_EQ(nobody.ask(get("/a")), errc::no_auth) << "the connection stays open";
}

struct many_identities : access_control {
  many_identities() {
    for (const char user : std::string{"12345678"})
      EXPECT_EQ(c.ask(auth("digest", credentials_of_size(1024, user))), ok);
  }
  static acl auth_entries(std::int32_t n) {
    acl entries;
    for (std::int32_t i = 0; i < n; ++i) entries.push_back({all_permissions - i, "auth", ""});
    return entries;
  }
  client& c = server.open_local_session();
};

// Each entry expands to 8 times 1030 bytes.
TEST_F(many_identities, the_limit_on_an_acl_applies_to_the_expanded_acl) {
  EXPECT_EQ(c.ask(create_with("/a", auth_entries(7))), ok);
  EXPECT_EQ(c.ask(get_acl("/a")).acl.size(), 56u);
  EXPECT_EQ(c.ask(create_with("/b", auth_entries(8))), errc::invalid_acl);
  EXPECT_EQ(c.ask(set_acl("/a", auth_entries(8))), errc::invalid_acl);
}

// A request of some kilobytes must not cost the server gigabytes.
TEST_F(many_identities, the_acls_of_one_request_have_a_limited_size_after_expansion) {
  const auto creations = [](int n) {
    std::vector<request> parts;
    for (int i = 0; i < n; ++i)
      parts.push_back(create_with("/n" + std::to_string(i), auth_entries(1)));
    return multi(parts);
  };
  const auto refused = c.ask(creations(510)).parts;
  ASSERT_EQ(refused.size(), 510u);
  EXPECT_EQ(refused[508], ok);
  EXPECT_EQ(refused[509], errc::invalid_acl);
  EXPECT_FALSE(server.stored().nodes.contains("/n0"));
  const auto accepted = c.ask(creations(509)).parts;
  ASSERT_EQ(accepted.size(), 509u);
  EXPECT_EQ(accepted[508], ok);
}

TEST_F(many_identities, an_invalid_acl_is_reported_before_a_missing_permission) {
  nobody.ask(create("/a"));
  nobody.ask(set_acl("/a", world(permission::read)));
  for (const auto& what : {create_with("/a/b", auth_entries(8)), set_acl("/a", auth_entries(8)),
                           create_with("/missing/b", auth_entries(8))})
    EXPECT_EQ(c.ask(what), errc::invalid_acl) << "as Apache's server does";
  EXPECT_EQ(c.ask(create_with("/a/b", auth_entries(1))), errc::no_auth);
  EXPECT_EQ(c.ask(set_acl("/a", auth_entries(1))), errc::no_auth);
  EXPECT_EQ(c.ask(create_with("/missing/b", auth_entries(1))), errc::no_node);
}

// --- long ACLs, whose checks are remembered during a request

acl long_acl(std::int32_t permissions, const std::string& digest) {
  acl entries(100, {all_permissions, "ip", "10.0.0.0/8"});
  for (std::size_t i = 0; i < entries.size(); ++i) entries[i].id = "10.0.0." + std::to_string(i);
  entries.push_back({permissions, "digest", digest});
  return entries;
}

TEST_F(access_control, a_changed_long_acl_applies_to_the_next_part_of_a_transaction) {
  auto& owner = someone("ann:secret");
  constexpr auto no_writing = all_permissions & ~permission::write;
  owner.ask(create_with("/a", long_acl(all_permissions, ann)));
  owner.ask(create_with("/b", long_acl(no_writing, ann)));
  auto parts = owner.ask(multi({check("/a"), set("/a", "x"), check("/b"), set("/b", "x")})).parts;
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[2], ok);
  EXPECT_EQ(parts[3], errc::no_auth) << "another permission, or another ACL, was checked before";
  owner.ask(set_acl("/a", long_acl(no_writing, ann)));
  EXPECT_EQ(owner.ask(set("/a", "x")), errc::no_auth);
  owner.ask(set_acl("/a", long_acl(all_permissions, ann)));
  EXPECT_EQ(owner.ask(set("/a", "x")), ok);
}

TEST_F(access_control, a_long_acl_is_checked_for_each_watcher) {
  auto& owner = someone("ann:secret");
  owner.ask(create_with("/a", long_acl(all_permissions, ann)));
  nobody.ask(exists("/a", watched));
  owner.ask(exists("/a", watched));
  auto& later = server.open_session();
  later.ask(exists("/a", watched));
  later.ask(auth("digest", "ann:secret"));
  owner.ask(set("/a", "x"));
  EXPECT_EQ(owner.take_events(), lines{"changed /a"});
  EXPECT_EQ(later.take_events(), lines{"changed /a"});
  EXPECT_EQ(nobody.take_events(), lines{});
}

TEST_F(access_control, a_new_identity_counts_in_the_same_turn_for_a_long_acl) {
  nobody.ask(create_with("/a", long_acl(all_permissions, ann)));
  server.turn([&] {
    nobody.send(get("/a"));
    nobody.send(auth("digest", "ann:secret"));
    nobody.send(get("/a"));
  });
  EXPECT_EQ(nobody.next_reply(), errc::no_auth);
  EXPECT_EQ(nobody.next_reply(), ok);
  EXPECT_EQ(nobody.next_reply(), ok);
}

// --- who am I

TEST_F(access_control, who_am_i) {
  EXPECT_EQ(nobody.ask(who_am_i()).acl, (acl{{0, "ip", "127.0.0.1"}}));
  auto& c = server.open_local_session();
  EXPECT_EQ(c.ask(who_am_i()).acl, acl{});
  c.ask(auth("digest", "ann:secret"));
  c.ask(auth("digest", "ann:secret"));
  c.ask(auth("digest", "super:secret"));
  EXPECT_EQ(c.ask(who_am_i()).acl,
            (acl{{0, "digest", "ann"}, {0, "super", ""}, {0, "digest", "super"}}))
      << "once each, and without the hash";
}

// --- events

TEST_F(access_control, a_client_without_read_permission_gets_no_event) {
  auto& owner = someone("ann:secret");
  owner.ask(create_with("/a", for_digest(all_permissions, ann)));
  nobody.ask(exists("/a", watched));  // exists needs no permission
  nobody.ask(exists("/a/b", watched));
  nobody.ask(add_recursive_watch("/a"));
  owner.ask(exists("/a", watched));
  owner.ask(set("/a", "x"));
  EXPECT_EQ(owner.take_events(), lines{"changed /a"});
  EXPECT_EQ(nobody.take_events(), lines{});
  owner.ask(create_with("/a/b", for_digest(all_permissions, ann)));
  EXPECT_EQ(nobody.take_events(), lines{});
  owner.ask(create("/a/c"));
  EXPECT_EQ(nobody.take_events(), lines{"created /a/c"}) << "the client may read this node";
}

TEST_F(access_control, events_follow_the_acl_at_the_time_of_the_change) {
  auto& owner = someone("ann:secret");
  owner.ask(create("/a"));
  nobody.ask(get("/a", watched));
  owner.ask(set_acl("/a", for_digest(all_permissions, ann)));
  owner.ask(set("/a", "x"));
  EXPECT_EQ(nobody.take_events(), lines{}) << "readable when watched, not when changed";
  owner.ask(set_acl("/a", open_to_all()));
  nobody.ask(add_persistent_watch("/a"));
  owner.ask(multi({set("/a", "y"), remove("/a"),
                   create_with("/a", for_digest(all_permissions, ann)), set("/a", "z")}));
  EXPECT_EQ(nobody.take_events(), (lines{"changed /a", "removed /a"}));
}

TEST_F(access_control, child_events_follow_the_acl_of_the_parent) {
  auto& owner = someone("ann:secret");
  owner.ask(create("/a"));
  nobody.ask(children("/a", watched));
  owner.ask(create("/a/x"));
  EXPECT_EQ(nobody.take_events(), lines{"children /a"});
  nobody.ask(children("/a", watched));
  nobody.ask(exists("/a/x", watched));
  owner.ask(set_acl("/a", for_digest(all_permissions, ann)));
  owner.ask(remove("/a/x"));
  EXPECT_EQ(nobody.take_events(), lines{"removed /a/x"});
}

TEST_F(access_control, an_unreadable_child_is_listed_by_a_readable_parent) {
  auto& owner = someone("ann:secret");
  owner.ask(create("/a"));
  nobody.ask(children("/a", watched));
  nobody.ask(exists("/a/x", watched));
  owner.ask(create_with("/a/x", for_digest(all_permissions, ann)));
  EXPECT_EQ(nobody.take_events(), lines{"children /a"});
  nobody.ask(children("/a", watched));
  owner.ask(remove("/a/x"));
  EXPECT_EQ(nobody.take_events(), lines{"children /a"});
}

TEST_F(access_control, a_watch_without_permission_is_used_up) {
  auto& owner = someone("ann:secret");
  owner.ask(create_with("/a", for_digest(all_permissions, ann)));
  nobody.ask(exists("/a", watched));
  owner.ask(set("/a", "x"));
  owner.ask(set_acl("/a", open_to_all()));
  owner.ask(set("/a", "y"));
  EXPECT_EQ(nobody.take_events(), lines{});
}

TEST_F(access_control, a_client_without_permission_gets_no_event_after_a_reconnect) {
  auto& owner = someone("ann:secret");
  owner.ask(create_with("/a", for_digest(all_permissions, ann)));
  owner.ask(create("/a/x"));
  EXPECT_EQ(nobody.ask(set_watches(0, {"/a"}, {"/a"}, {"/a"})), ok);
  EXPECT_EQ(nobody.take_events(), lines{});
  EXPECT_EQ(owner.ask(set_watches(0, {"/a"}, {"/a"}, {"/a"})), ok);
  EXPECT_EQ(owner.take_events(), (lines{"changed /a", "created /a", "children /a"}));
}

}  // namespace
}  // namespace conclave::server_impl
