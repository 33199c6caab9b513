// Containers that have become empty and nodes past their time to live.

#include <gtest/gtest.h>

#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

// Reaps every 60 s.
struct reaping : ::testing::Test {
  test_server server;
  client& c = server.open_local_session();
};

TEST_F(reaping, a_container_goes_when_its_last_child_has_gone) {
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

TEST_F(reaping, a_container_that_never_had_a_child_stays) {
  c.ask(create_container("/c"));
  server.pass(1h);
  EXPECT_EQ(c.ask(exists("/c")), ok);
}

TEST_F(reaping, a_plain_node_stays) {
  c.ask(create("/p"));
  c.ask(create("/p/x"));
  c.ask(remove("/p/x"));
  server.pass(1h);
  EXPECT_EQ(c.ask(exists("/p")), ok);
}

TEST_F(reaping, a_container_in_a_container_goes_first) {
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

TEST_F(reaping, each_node_has_its_own_zxid) {
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

TEST_F(reaping, after_a_crash_as_well) {
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

TEST_F(reaping, a_container_emptied_before_a_crash) {
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
  server.pass(100s);  // looked at after 100, 160 and 220 s
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

TEST_F(reaping, a_ttl_node_with_children_stays) {
  c.ask(create_ttl("/t", 1000));
  c.ask(create("/t/x"));
  server.pass(10min);
  EXPECT_EQ(c.ask(exists("/t")), ok);
  c.ask(remove("/t/x"));
  server.pass(60s);
  EXPECT_EQ(c.ask(exists("/t")), errc::no_node);
}

TEST_F(reaping, the_longest_ttl) {
  EXPECT_EQ(c.ask(create_ttl("/t", (std::int64_t{1} << 40) - 1)), ok);
  server.pass(10min);
  EXPECT_EQ(c.ask(exists("/t")), ok);
}

TEST_F(reaping, a_clock_that_is_set_back_removes_nothing) {
  c.ask(create_ttl("/t", 1000));
  server.set_wall_clock(0);
  server.pass(60s);
  EXPECT_EQ(c.ask(exists("/t")), ok);
}

TEST_F(reaping, needs_nobody_to_be_awake_when_there_is_nothing_to_reap) {
  server.pass(10s);  // until the session, which is held open, is out of the queue
  EXPECT_EQ(server.core().next_deadline(), time_point::max());
  c.ask(create_container("/c"));
  EXPECT_LE(server.core().next_deadline(), server.now() + 60s);
  c.ask(remove("/c"));
  EXPECT_EQ(server.core().next_deadline(), time_point::max());
}

TEST_F(reaping, one_that_failed_to_be_made_or_removed) {
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
