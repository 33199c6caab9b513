// Removal of empty containers and of nodes past their time to live.

#include <gtest/gtest.h>

#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

// Reaps every 60 s.
struct reaping : ::testing::Test {
  test_server server;
  client& c = server.open_local_session();
};

TEST_F(reaping, removes_a_container_after_its_last_child) {
  c.ask(create_container("/c"));
  c.ask(create("/c/x"));
  server.pass(60s);
  EXPECT_EQ(c.ask(exists("/c")), ok);
  c.ask(remove("/c/x"));
  c.ask(exists("/c", watched));
  const auto before = server.core().zxid();
  server.pass(60s);
  EXPECT_EQ(c.take_events(), lines{"removed /c"});
  EXPECT_EQ(server.core().zxid(), before + 1);
  EXPECT_FALSE(server.stored().nodes.contains("/c"));
}

TEST_F(reaping, keeps_a_container_that_never_had_a_child) {
  c.ask(create_container("/c"));
  server.pass(1h);
  EXPECT_EQ(c.ask(exists("/c")), ok);
}

TEST_F(reaping, keeps_a_persistent_node) {
  c.ask(create("/p"));
  c.ask(create("/p/x"));
  c.ask(remove("/p/x"));
  server.pass(1h);
  EXPECT_EQ(c.ask(exists("/p")), ok);
}

TEST_F(reaping, removes_nested_containers_first) {
  c.ask(create_container("/c"));
  c.ask(create_container("/c/d"));
  c.ask(create("/c/d/x"));
  c.ask(remove("/c/d/x"));
  server.pass(60s);
  EXPECT_EQ(c.ask(exists("/c/d")), errc::no_node);
  EXPECT_EQ(c.ask(exists("/c")), ok);
  server.pass(60s);
  EXPECT_EQ(c.ask(exists("/c")), errc::no_node);
}

TEST_F(reaping, uses_one_zxid_for_each_node) {
  for (const auto path : {"/c1", "/c2"}) {
    c.ask(create_container(path));
    c.ask(create(std::string{path} + "/x"));
    c.ask(remove(std::string{path} + "/x"));
  }
  c.ask(create_ttl("/t", 1000));
  c.ask(add_recursive_watch("/"));
  const auto before = server.core().zxid();
  server.pass(60s);
  EXPECT_EQ(server.core().zxid(), before + 3);
  EXPECT_EQ(c.take_events(), (lines{"removed /c1", "removed /c2", "removed /t"}));
}

TEST_F(reaping, continues_after_a_crash) {
  c.ask(create_container("/c"));
  c.ask(create("/c/x"));
  c.ask(create_ttl("/t", 1000));
  server.crash();
  auto& again = server.reconnect(c, 10s, from_socket);
  again.ask(remove("/c/x"));
  server.pass(60s);
  EXPECT_EQ(again.ask(exists("/c")), errc::no_node);
  EXPECT_EQ(again.ask(exists("/t")), errc::no_node);
}

TEST_F(reaping, removes_a_container_that_was_emptied_before_a_crash) {
  c.ask(create_container("/c"));
  c.ask(create("/c/x"));
  c.ask(remove("/c/x"));
  server.crash();
  server.pass(60s);
  EXPECT_FALSE(server.stored().nodes.contains("/c"));
}

TEST_F(reaping, a_ttl_counts_from_the_last_change) {
  c.ask(create_ttl("/t", 100'000));
  server.pass(90s);
  c.ask(set("/t", "x"));
  server.pass(100s);  // checked after 100, 160 and 220 s
  EXPECT_EQ(c.ask(exists("/t")), ok);
  server.pass(60s);
  EXPECT_EQ(c.ask(exists("/t")), errc::no_node);
}

TEST_F(reaping, a_ttl_must_be_exceeded) {
  c.ask(create_ttl("/exact", 60'000));
  c.ask(create_ttl("/shorter", 59'999));
  server.pass(60s);
  EXPECT_EQ(c.ask(exists("/exact")), ok);
  EXPECT_EQ(c.ask(exists("/shorter")), errc::no_node);
}

TEST_F(reaping, keeps_a_ttl_node_with_children) {
  c.ask(create_ttl("/t", 1000));
  c.ask(create("/t/x"));
  server.pass(10min);
  EXPECT_EQ(c.ask(exists("/t")), ok);
  c.ask(remove("/t/x"));
  server.pass(60s);
  EXPECT_EQ(c.ask(exists("/t")), errc::no_node);
}

TEST_F(reaping, accepts_the_longest_ttl) {
  EXPECT_EQ(c.ask(create_ttl("/t", (std::int64_t{1} << 40) - 1)), ok);
  server.pass(10min);
  EXPECT_EQ(c.ask(exists("/t")), ok);
}

TEST_F(reaping, removes_nothing_if_the_clock_is_set_back) {
  c.ask(create_ttl("/t", 1000));
  server.set_wall_clock(0);
  server.pass(60s);
  EXPECT_EQ(c.ask(exists("/t")), ok);
}

TEST_F(reaping, sets_no_deadline_when_there_is_nothing_to_reap) {
  server.pass(10s);  // until the process-bound session has left the expiry queue
  EXPECT_EQ(server.core().next_deadline(), time_point::max());
  c.ask(create_container("/c"));
  EXPECT_LE(server.core().next_deadline(), server.now() + 60s);
  c.ask(remove("/c"));
  EXPECT_EQ(server.core().next_deadline(), time_point::max());
}

TEST_F(reaping, ignores_failed_creations_and_removals) {
  c.ask(create_container("/c"));
  c.ask(create("/c/x"));
  c.ask(remove("/c/x"));
  c.ask(create_ttl("/t", 1000));
  c.ask(multi({remove("/c"), remove("/t"), create_container("/d"), check("/missing")}));
  server.pass(60s);
  EXPECT_EQ(c.ask(exists("/c")), errc::no_node);
  EXPECT_EQ(c.ask(exists("/t")), errc::no_node);
  EXPECT_EQ(server.core().next_deadline(), time_point::max());
}

}  // namespace
}  // namespace conclave::server_impl
