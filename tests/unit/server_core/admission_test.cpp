// How many connections may be open, and whose.

#include "server/core/admission.hpp"

#include <gtest/gtest.h>

namespace conclave::server_impl {
namespace {

using verdict = admission::verdict;
const std::string unix_socket;

TEST(admission, all_connections_count) {
  admission a{{3, 0}};
  a.opened("10.0.0.1");
  a.opened("10.0.0.1");
  EXPECT_EQ(a.check("10.0.0.2"), verdict::admitted);
  a.opened(unix_socket);
  EXPECT_EQ(a.check("10.0.0.2"), verdict::server_full);
  EXPECT_EQ(a.check(unix_socket), verdict::server_full);
  a.closed("10.0.0.1");
  EXPECT_EQ(a.check("10.0.0.2"), verdict::admitted);
}

TEST(admission, an_address_has_its_share) {
  admission a{{100, 2}};
  a.opened("10.0.0.1");
  a.opened("10.0.0.1");
  EXPECT_EQ(a.check("10.0.0.1"), verdict::address_full);
  EXPECT_EQ(a.check("10.0.0.2"), verdict::admitted);
  EXPECT_EQ(a.check(unix_socket), verdict::admitted);
  a.closed("10.0.0.1");
  EXPECT_EQ(a.check("10.0.0.1"), verdict::admitted);
}

TEST(admission, addresses_that_one_machine_has_in_plenty_count_as_one) {
  EXPECT_EQ(admission::network_of("127.0.0.1"), admission::network_of("127.9.8.7"));
  EXPECT_EQ(admission::network_of("2001:db8:1:2::1"), admission::network_of("2001:db8:1:2:3::9"));
  EXPECT_NE(admission::network_of("2001:db8:1:2::1"), admission::network_of("2001:db8:1:3::1"));
  EXPECT_EQ(admission::network_of("fe80::1%eth0"), admission::network_of("fe80::2"));
  EXPECT_NE(admission::network_of("10.0.0.1"), admission::network_of("10.0.0.2"));
}

// Nothing is kept of an address that was only asked for, or has no connection any more.
TEST(admission, forgets_addresses_without_a_connection) {
  admission a{{3, 2}};
  a.opened("10.0.0.1");
  a.opened("10.0.0.2");
  a.opened(unix_socket);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(a.check("10.1.0." + std::to_string(i)), verdict::server_full);
  EXPECT_EQ(a.addresses(), 2u);
  a.closed("10.0.0.2");
  EXPECT_EQ(a.addresses(), 1u);
}

TEST(admission, the_last_ones_are_for_the_unix_socket_and_for_sessions_that_reconnect) {
  const admission a{{160, 0}};
  EXPECT_TRUE(a.may_begin_session(false, 139));
  EXPECT_FALSE(a.may_begin_session(false, 140));
  EXPECT_TRUE(a.may_begin_session(true, 149));
  EXPECT_FALSE(a.may_begin_session(true, 150));
}

TEST(admission, a_small_server_keeps_none_back) {
  const admission a{{5, 0}};
  EXPECT_TRUE(a.may_begin_session(false, 4));
  EXPECT_FALSE(a.may_begin_session(true, 5));
}

TEST(admission, the_default_share_is_a_quarter_and_not_below_apaches) {
  EXPECT_EQ(admission::default_per_address(16'000), 4000u);
  EXPECT_EQ(admission::default_per_address(100), 60u);
}

}  // namespace
}  // namespace conclave::server_impl
