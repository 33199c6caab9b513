// Sequence numbers.

#include <string>

#include <gtest/gtest.h>

#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

TEST(sequence, appends_ten_digits_to_any_prefix) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/q"));
  EXPECT_EQ(c.ask(create_sequential("/q/n-")).path, "/q/n-0000000000");
  EXPECT_EQ(c.ask(create_sequential("/q/")).path, "/q/0000000001");
  EXPECT_EQ(c.ask(create("/q/e-", "", mode::ephemeral_sequential)).path, "/q/e-0000000002");
  EXPECT_EQ(c.ask(create_ttl("/q/t-", 1000, mode::sequential_ttl)).path, "/q/t-0000000003");
  EXPECT_EQ(c.ask(create2("/q/n-", "", mode::sequential)).path, "/q/n-0000000004");
  EXPECT_EQ(c.ask(exists("/q/e-0000000002")).stat.ephemeral_owner, c.session());
}

TEST(sequence, counts_every_creation_of_a_child) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/q"));
  c.ask(create("/q/plain"));
  c.ask(create_container("/q/container"));
  EXPECT_EQ(c.ask(create_sequential("/q/n-")).path, "/q/n-0000000002");
}

TEST(sequence, does_not_count_removals_and_failures) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/q"));
  EXPECT_EQ(c.ask(create_sequential("/q/n-")).path, "/q/n-0000000000");
  c.ask(remove("/q/n-0000000000"));
  EXPECT_EQ(c.ask(create("/q/.")), errc::bad_arguments);
  EXPECT_EQ(c.ask(multi({create("/q/a"), check("/missing")})).parts[1], errc::no_node);
  EXPECT_EQ(c.ask(create_sequential("/q/n-")).path, "/q/n-0000000001");
}

TEST(sequence, is_separate_for_each_parent) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/a"));
  c.ask(create("/b"));
  c.ask(create_sequential("/a/n-"));
  EXPECT_EQ(c.ask(create_sequential("/b/n-")).path, "/b/n-0000000000");
}

TEST(sequence, continues_after_a_crash) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/q"));
  c.ask(create_sequential("/q/n-"));
  c.ask(remove("/q/n-0000000000"));
  server.crash();
  EXPECT_EQ(server.reconnect(c).ask(create_sequential("/q/n-")).path, "/q/n-0000000001");
}

TEST(sequence, restarts_with_a_new_parent) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/q"));
  c.ask(create_sequential("/q/n-"));
  c.ask(remove("/q/n-0000000000"));
  c.ask(remove("/q"));
  c.ask(create("/q"));
  server.crash();
  EXPECT_EQ(server.reconnect(c).ask(create_sequential("/q/n-")).path, "/q/n-0000000000");
}

TEST(sequence, fails_if_the_name_exists) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/q"));
  c.ask(create("/q/n-0000000001"));
  EXPECT_EQ(c.ask(create_sequential("/q/n-")), errc::node_exists);
  c.ask(create("/q/other"));
  EXPECT_EQ(c.ask(create_sequential("/q/n-")).path, "/q/n-0000000002");
}

// Apache's server does not wrap.
TEST(sequence, wraps_after_the_greatest_number) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/q"));
  server.disk().nodes.at("/q").children.creates = INT32_MAX - 1;
  server.crash();
  auto& again = server.reconnect(c);
  EXPECT_EQ(again.ask(create_sequential("/q/n-")).path, "/q/n-2147483646");
  EXPECT_EQ(again.ask(create_sequential("/q/n-")).path, "/q/n-2147483647");
  const auto lowest = again.ask(create_sequential("/q/n-")).path;
  EXPECT_EQ(lowest, "/q/n--2147483648");
  EXPECT_EQ(lowest.size(), std::string{"/q/n-"}.size() + 11);
  EXPECT_EQ(again.ask(create_sequential("/q/n-")).path, "/q/n--2147483647");
  server.crash();
  EXPECT_EQ(server.reconnect(again).ask(create_sequential("/q/n-")).path, "/q/n--2147483646");
}

TEST(sequence, small_negative_numbers_have_ten_characters) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/q"));
  server.disk().nodes.at("/q").children.creates = -2;
  server.crash();
  auto& again = server.reconnect(c);
  EXPECT_EQ(again.ask(create_sequential("/q/n")).path, "/q/n-000000002");
  EXPECT_EQ(again.ask(create_sequential("/q/n")).path, "/q/n-000000001");
  EXPECT_EQ(again.ask(create_sequential("/q/n")).path, "/q/n0000000000");
}

}  // namespace
}  // namespace conclave::server_impl
