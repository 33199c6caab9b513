// Watches of all kinds and their limits.

#include <gtest/gtest.h>

#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

struct watches : ::testing::Test {
  test_server server;
  client& c = server.open_session();  // watches
  client& other = server.open_session();

  std::size_t left() const {
    auto& core = const_cast<watches*>(this)->server.core();
    return core.data_watches().count() + core.child_watches().count();
  }
};

TEST_F(watches, data_changed) {
  other.ask(create("/a"));
  c.ask(get("/a", watched));
  other.ask(set("/a", "1"));
  EXPECT_EQ(c.take_events(), lines{"changed /a"});
  other.ask(set("/a", "2"));
  EXPECT_EQ(c.take_events(), lines{}) << "the watch fires once";
  EXPECT_EQ(left(), 0u);
}

TEST_F(watches, data_removed) {
  other.ask(create("/a"));
  c.ask(get("/a", watched));
  other.ask(remove("/a"));
  EXPECT_EQ(c.take_events(), lines{"removed /a"});
  other.ask(create("/a"));
  EXPECT_EQ(c.take_events(), lines{});
}

TEST_F(watches, the_acl_and_the_children_are_not_data) {
  other.ask(create("/a"));
  c.ask(get("/a", watched));
  other.ask(set_acl("/a", open_to_all()));
  other.ask(create("/a/b"));
  other.ask(remove("/a/b"));
  EXPECT_EQ(c.take_events(), lines{});
  EXPECT_EQ(left(), 1u);
}

TEST_F(watches, a_node_that_does_not_exist_yet) {
  EXPECT_EQ(c.ask(exists("/a", watched)), errc::no_node);
  other.ask(create("/a"));
  EXPECT_EQ(c.take_events(), lines{"created /a"});
  other.ask(set("/a", "x"));
  EXPECT_EQ(c.take_events(), lines{});
}

TEST_F(watches, a_node_without_a_parent_that_does_not_exist_yet) {
  c.ask(exists("/a/b", watched));
  other.ask(create("/a"));
  EXPECT_EQ(c.take_events(), lines{});
  other.ask(create("/a/b"));
  EXPECT_EQ(c.take_events(), lines{"created /a/b"});
}

TEST_F(watches, exists_on_an_existing_node) {
  other.ask(create("/a"));
  c.ask(exists("/a", watched));
  other.ask(set("/a", "x"));
  EXPECT_EQ(c.take_events(), lines{"changed /a"});
  c.ask(exists("/a", watched));
  other.ask(remove("/a"));
  EXPECT_EQ(c.take_events(), lines{"removed /a"});
}

TEST_F(watches, children) {
  other.ask(create("/a"));
  for (const auto read : {children, children2}) {
    c.ask(read("/a", watched));
    other.ask(create("/a/b"));
    EXPECT_EQ(c.take_events(), lines{"children /a"});
    other.ask(create("/a/c"));
    EXPECT_EQ(c.take_events(), lines{});
    c.ask(read("/a", watched));
    other.ask(remove("/a/b"));
    EXPECT_EQ(c.take_events(), lines{"children /a"});
    other.ask(remove("/a/c"));
  }
}

TEST_F(watches, data_of_the_node_and_of_children_are_not_children) {
  other.ask(create("/a"));
  other.ask(create("/a/b"));
  c.ask(children("/a", watched));
  other.ask(set("/a", "x"));
  other.ask(set("/a/b", "x"));
  other.ask(create("/a/b/c"));
  EXPECT_EQ(c.take_events(), lines{});
}

TEST_F(watches, children_of_the_root) {
  c.ask(children("/", watched));
  other.ask(create("/a"));
  EXPECT_EQ(c.take_events(), lines{"children /"});
}

TEST_F(watches, children_of_a_node_that_is_removed) {
  other.ask(create("/a"));
  c.ask(children("/a", watched));
  other.ask(remove("/a"));
  EXPECT_EQ(c.take_events(), lines{"removed /a"});
  EXPECT_EQ(left(), 0u);
}

// A client with a data watch and a child watch on the node gets one event for the node.
TEST_F(watches, a_client_gets_one_event_for_a_removal) {
  other.ask(create("/a"));
  other.ask(create("/a/b"));
  c.ask(get("/a/b", watched));
  c.ask(children("/a/b", watched));
  c.ask(children("/a", watched));
  other.ask(children("/a/b", watched));
  other.take_events();
  other.ask(remove("/a/b"));
  EXPECT_EQ(c.take_events(), (lines{"removed /a/b", "children /a"}));
  EXPECT_EQ(other.take_events(), lines{"removed /a/b"});
  EXPECT_EQ(left(), 0u);
}

TEST_F(watches, a_creation_notifies_watches_on_the_node_before_the_parent) {
  c.ask(exists("/a", watched));
  c.ask(children("/", watched));
  other.ask(create("/a"));
  EXPECT_EQ(c.take_events(), (lines{"created /a", "children /"}));
}

TEST_F(watches, set_twice_fire_once) {
  other.ask(create("/a"));
  c.ask(get("/a", watched));
  c.ask(get("/a", watched));
  c.ask(exists("/a", watched));
  EXPECT_EQ(left(), 1u);
  other.ask(set("/a", "x"));
  EXPECT_EQ(c.take_events(), lines{"changed /a"});
}

TEST_F(watches, all_watching_clients_are_notified) {
  other.ask(create("/a"));
  c.ask(get("/a", watched));
  other.ask(get("/a", watched));
  auto& third = server.open_session();
  third.ask(get("/a", watched));
  other.ask(set("/a", "x"));
  for (auto* each : {&c, &other, &third}) EXPECT_EQ(each->take_events(), lines{"changed /a"});
}

TEST_F(watches, reads_without_a_watch_get_no_event) {
  other.ask(create("/a"));
  c.ask(get("/a"));
  c.ask(exists("/a"));
  c.ask(children("/a"));
  other.ask(set("/a", "x"));
  other.ask(remove("/a"));
  EXPECT_EQ(c.take_events(), lines{});
}

TEST_F(watches, end_with_the_connection) {
  other.ask(create("/a"));
  c.ask(get("/a", watched));
  c.ask(children("/a", watched));
  c.ask(add_recursive_watch("/a"));
  c.ask(exists("/b", watched));
  EXPECT_EQ(left(), 3u) << "two watches of one connection on one path are one entry";
  c.disconnect();
  EXPECT_EQ(left(), 0u);
  EXPECT_EQ(server.core().data_watches().watching_connections(), 0u);
  EXPECT_EQ(server.core().data_watches().watched_paths(), 0u);
}

TEST_F(watches, end_with_the_session) {
  c.ask(get("/", watched));
  c.ask(close_session());
  EXPECT_EQ(left(), 0u);
}

TEST_F(watches, a_limit_for_each_connection) {
  auto options = default_options();
  options.max_watches_per_connection = 4;
  test_server small{options};
  auto& greedy = small.open_session();
  auto& modest = small.open_session();
  EXPECT_EQ(greedy.ask(get("/", watched)), ok);
  EXPECT_EQ(greedy.ask(children("/", watched)), ok);
  EXPECT_EQ(greedy.ask(set_watches(0, {}, {"/1", "/2", "/3"}, {})), errc::quota_exceeded);
  EXPECT_EQ(greedy.ask(exists("/1", watched)), errc::no_node);
  EXPECT_EQ(greedy.ask(add_persistent_watch("/2")), errc::quota_exceeded)
      << "the watch counts twice";
  EXPECT_EQ(greedy.ask(exists("/2", watched)), errc::no_node);
  EXPECT_EQ(greedy.ask(exists("/3", watched)), errc::quota_exceeded);
  EXPECT_EQ(greedy.ask(get("/zookeeper", watched)), errc::quota_exceeded);
  EXPECT_EQ(greedy.ask(children("/zookeeper", watched)), errc::quota_exceeded);
  EXPECT_EQ(greedy.ask(children2("/zookeeper", watched)), errc::quota_exceeded);
  EXPECT_EQ(greedy.ask(get("/zookeeper")), ok);
  EXPECT_EQ(modest.ask(get("/", watched)), ok);
  modest.ask(create("/1"));
  EXPECT_EQ(greedy.take_events(), (lines{"created /1", "children /"}));
  EXPECT_EQ(greedy.ask(exists("/3", watched)), errc::no_node) << "below the limit again";
}

TEST_F(watches, a_limit_for_all_connections_together) {
  auto options = default_options();
  options.max_watches = 4;
  test_server small{options};
  auto& greedy = small.open_session();
  auto& modest = small.open_session();
  EXPECT_EQ(greedy.ask(add_persistent_watch("/")), ok);
  EXPECT_EQ(greedy.ask(exists("/1", watched)), errc::no_node);
  EXPECT_EQ(modest.ask(exists("/1", watched)), errc::no_node);
  EXPECT_EQ(modest.ask(exists("/2", watched)), errc::quota_exceeded);
  greedy.disconnect();
  EXPECT_EQ(modest.ask(exists("/2", watched)), errc::no_node) << "below the limit again";
}

TEST_F(watches, a_limit_for_the_bytes_of_all_their_paths) {
  auto options = default_options();
  options.max_watched_bytes = 1000;
  test_server small{options};
  const std::string path = "/" + std::string(599, 'x');
  auto& first = small.open_session();
  auto& second = small.open_session();
  EXPECT_EQ(first.ask(exists(path, watched)), errc::no_node);
  EXPECT_EQ(second.ask(exists(path, watched)), errc::no_node)
      << "each connection has its own limit";
  EXPECT_EQ(small.open_session().ask(exists("/2", watched)), errc::quota_exceeded);
  first.ask(remove_watches(path));
  EXPECT_EQ(small.open_session().ask(exists("/2", watched)), errc::no_node)
      << "below the limit again";
}

// --- limits for pending events

struct many_events : ::testing::Test {
  static core_options with(std::size_t of_one, std::size_t of_all) {
    auto options = default_options();
    options.max_event_bytes_per_connection = of_one;
    options.max_event_bytes = of_all;
    return options;
  }
  // Ten events of about 140 bytes for each recursive watch on the root.
  static request ten_changes() {
    std::vector<request> parts;
    for (int i = 0; i < 10; ++i)
      parts.push_back(create("/" + std::string(100, 'x') + std::to_string(i)));
    return multi(parts);
  }
};

TEST_F(many_events, a_connection_with_too_many_in_one_turn_is_dropped) {
  test_server small{with(1000, 1'000'000)};
  auto& other = small.open_session();
  auto& watching = small.open_session();
  auto& modest = small.open_session();
  watching.ask(add_recursive_watch("/"));
  modest.ask(exists("/" + std::string(100, 'x') + "9", watched));
  const auto session = watching.session();
  EXPECT_EQ(other.ask(ten_changes()), ok);
  EXPECT_TRUE(watching.closed());
  EXPECT_EQ(watching.take_events(), lines{}) << "no event, because the rest would be missing";
  EXPECT_EQ(modest.take_events().size(), 1u);
  EXPECT_EQ(small.core().data_watches().count() + small.core().child_watches().count(), 0u);
  EXPECT_TRUE(small.is_alive(session)) << "the client can reconnect";
  EXPECT_EQ(small.reconnect(watching).ask(exists("/")), ok);
}

TEST_F(many_events, above_the_total_limit_drop_connections_without_space) {
  test_server small{with(1'000'000, 7000)};
  auto& other = small.open_session();
  std::vector<client*> crowd;
  for (int i = 0; i < 20; ++i) {
    crowd.push_back(&small.open_session());
    crowd.back()->ask(add_recursive_watch("/"));
  }
  EXPECT_EQ(other.ask(ten_changes()), ok);
  int served = 0;
  for (auto* c : crowd) {
    if (c->closed()) continue;
    ++served;
    EXPECT_EQ(c->take_events().size(), 10u) << "all of them, or none";
  }
  EXPECT_GT(served, 0);
  EXPECT_LE(served, 5);
  EXPECT_EQ(small.core().event_bytes(), 0u);
}

TEST_F(many_events, count_for_their_turn_only) {
  test_server small{with(2000, 2000)};
  auto& other = small.open_session();
  auto& watching = small.open_session();
  watching.ask(add_recursive_watch("/"));
  for (int i = 0; i < 100; ++i) other.ask(set("/zookeeper", std::to_string(i)));
  EXPECT_EQ(watching.take_events().size(), 100u);
}

TEST_F(many_events, of_a_connection_that_ends_in_the_same_turn_do_not_count) {
  test_server small{with(2000, 2000)};
  auto& other = small.open_session();
  auto& watching = small.open_session();
  auto& second = small.open_session();
  watching.ask(add_recursive_watch("/"));
  second.ask(add_recursive_watch("/"));
  small.turn([&] {
    other.send(create("/" + std::string(900, 'x')));
    watching.disconnect();
    other.send(create("/" + std::string(800, 'x')));
  });
  EXPECT_FALSE(second.closed());
  EXPECT_EQ(second.take_events().size(), 2u);
}

// The request was executed, but its reply must not arrive without the events before it.
TEST_F(many_events, of_its_own_request_drop_it_without_an_answer) {
  test_server small{with(1000, 1'000'000)};
  auto& c = small.open_session();
  c.ask(add_recursive_watch("/"));
  c.send(ten_changes());
  EXPECT_TRUE(c.closed());
  EXPECT_EQ(small.open_session().ask(exists("/" + std::string(100, 'x') + "0")), ok);
}

TEST_F(many_events, include_those_of_the_end_of_its_own_session) {
  test_server small{with(1000, 1'000'000)};
  auto& c = small.open_session();
  for (int i = 0; i < 10; ++i)
    c.ask(create_ephemeral("/" + std::string(100, 'x') + std::to_string(i)));
  c.ask(add_recursive_watch("/"));
  c.send(close_session());
  EXPECT_TRUE(c.closed());
  EXPECT_FALSE(small.is_alive(c.session()));
}

TEST_F(watches, a_limit_for_the_bytes_of_their_paths) {
  auto options = default_options();
  options.max_watched_bytes_per_connection = 1000;
  test_server small{options};
  auto& greedy = small.open_session();
  auto& modest = small.open_session();
  const std::string path = "/" + std::string(499, 'x');
  EXPECT_EQ(greedy.ask(exists(path, watched)), errc::no_node);
  EXPECT_EQ(greedy.ask(exists(path, watched)), errc::no_node) << "the same counts once";
  EXPECT_EQ(greedy.ask(exists(path + "1", watched)), errc::no_node);
  EXPECT_EQ(greedy.ask(exists("/2", watched)), errc::quota_exceeded);
  EXPECT_EQ(greedy.ask(add_recursive_watch("/")), errc::quota_exceeded);
  EXPECT_EQ(modest.ask(exists("/2", watched)), errc::no_node);
  greedy.ask(remove_watches(path + "1"));
  EXPECT_EQ(greedy.ask(exists("/2", watched)), errc::no_node) << "below the limit again";
  greedy.ask(exists(path + "1", watched));
  modest.ask(create(path));
  EXPECT_EQ(greedy.take_events(), lines{"created " + path});
  EXPECT_EQ(greedy.ask(exists("/3", watched)), errc::no_node);
}

// --- persistent watches

TEST_F(watches, a_persistent_watch_reports_all_changes_of_its_node) {
  c.ask(add_persistent_watch("/a"));
  other.ask(create("/a"));
  other.ask(set("/a", "1"));
  other.ask(set("/a", "2"));
  other.ask(create("/a/b"));
  other.ask(set("/a/b", "x"));
  other.ask(create("/a/b/c"));
  other.ask(remove("/a/b/c"));
  other.ask(remove("/a/b"));
  other.ask(remove("/a"));
  other.ask(create("/a"));
  EXPECT_EQ(c.take_events(), (lines{"created /a", "changed /a", "changed /a", "children /a",
                                    "children /a", "removed /a", "created /a"}));
}

TEST_F(watches, a_recursive_watch_reports_descendants_but_no_child_lists) {
  other.ask(create("/a"));
  c.ask(add_recursive_watch("/a"));
  other.ask(set("/a", "1"));
  other.ask(create("/a/b"));
  other.ask(set("/a/b", "x"));
  other.ask(create("/a/b/c"));
  other.ask(create("/ab"));
  other.ask(remove("/a/b/c"));
  other.ask(remove("/a/b"));
  other.ask(remove("/a"));
  EXPECT_EQ(c.take_events(), (lines{"changed /a", "created /a/b", "changed /a/b", "created /a/b/c",
                                    "removed /a/b/c", "removed /a/b", "removed /a"}));
}

TEST_F(watches, recursive_on_the_root) {
  c.ask(add_recursive_watch("/"));
  other.ask(create("/a"));
  other.ask(create("/a/b"));
  other.ask(set("/", "x"));
  EXPECT_EQ(c.take_events(), (lines{"created /a", "created /a/b", "changed /"}));
}

TEST_F(watches, overlapping_watches_send_one_event) {
  other.ask(create("/a"));
  other.ask(create("/a/b"));
  c.ask(add_recursive_watch("/"));
  c.ask(add_recursive_watch("/a"));
  c.ask(add_persistent_watch("/a/b"));
  c.ask(get("/a/b", watched));
  c.ask(children("/a/b", watched));
  other.ask(set("/a/b", "x"));
  EXPECT_EQ(c.take_events(), lines{"changed /a/b"});
  other.ask(create("/a/b/c"));
  EXPECT_EQ(c.take_events(), (lines{"created /a/b/c", "children /a/b"}));
  other.ask(remove("/a/b/c"));
  c.take_events();
  other.ask(remove("/a/b"));
  EXPECT_EQ(c.take_events(), lines{"removed /a/b"});
}

TEST_F(watches, a_persistent_watch_outlives_a_one_shot_watch_on_the_same_node) {
  other.ask(create("/a"));
  c.ask(add_persistent_watch("/a"));
  c.ask(get("/a", watched));
  other.ask(set("/a", "1"));
  other.ask(set("/a", "2"));
  EXPECT_EQ(c.take_events(), (lines{"changed /a", "changed /a"}));
}

TEST_F(watches, persistent_and_recursive_on_the_same_node) {
  other.ask(create("/a"));
  c.ask(add_persistent_watch("/a"));
  c.ask(add_recursive_watch("/a"));
  other.ask(create("/a/b"));
  EXPECT_EQ(c.take_events(), (lines{"created /a/b", "children /a"}));
}

TEST_F(watches, add_watch_returns_zero_and_ignores_an_unknown_mode) {
  const auto added = c.ask(add_persistent_watch("/"));
  EXPECT_EQ(added, ok);
  EXPECT_EQ(added.number, 0);
  EXPECT_EQ(added.body_size, 4u);
  for (const std::int32_t mode : {-1, 2, 100})
    EXPECT_EQ(c.ask(make_request(wire::opcode::add_watch, "/", mode)), errc::marshalling_error);
}

// --- removal

TEST_F(watches, removed_by_kind) {
  other.ask(create("/a"));
  c.ask(get("/a", watched));
  c.ask(children("/a", watched));
  EXPECT_EQ(c.ask(remove_watches("/a", watch_type::data)), ok);
  EXPECT_EQ(c.ask(remove_watches("/a", watch_type::data)), errc::no_watcher);
  other.ask(set("/a", "x"));
  EXPECT_EQ(c.take_events(), lines{});
  other.ask(create("/a/b"));
  EXPECT_EQ(c.take_events(), lines{"children /a"}) << "this watch was kept";

  c.ask(get("/a", watched));
  c.ask(children("/a", watched));
  EXPECT_EQ(c.ask(remove_watches("/a", watch_type::children)), ok);
  EXPECT_EQ(c.ask(remove_watches("/a", watch_type::children)), errc::no_watcher);
  other.ask(remove("/a/b"));
  EXPECT_EQ(c.take_events(), lines{});
  other.ask(set("/a", "y"));
  EXPECT_EQ(c.take_events(), lines{"changed /a"});
}

TEST_F(watches, removed_for_any_kind) {
  other.ask(create("/a"));
  c.ask(get("/a", watched));
  c.ask(children("/a", watched));
  EXPECT_EQ(c.ask(remove_watches("/a", watch_type::any)), ok);
  EXPECT_EQ(c.ask(remove_watches("/a", watch_type::any)), errc::no_watcher);
  EXPECT_EQ(left(), 0u);
  c.ask(children("/a", watched));
  EXPECT_EQ(c.ask(remove_watches("/a", watch_type::any)), ok) << "one of the two is enough";
  c.ask(get("/a", watched));
  EXPECT_EQ(c.ask(remove_watches("/a", watch_type::any)), ok);
  c.ask(add_persistent_watch("/a"));
  EXPECT_EQ(c.ask(remove_watches("/a", watch_type::any)), ok);
  c.ask(add_recursive_watch("/a"));
  EXPECT_EQ(c.ask(remove_watches("/a", watch_type::any)), ok);
  other.ask(create("/a/b"));
  other.ask(set("/a", "x"));
  EXPECT_EQ(c.take_events(), lines{});
}

TEST_F(watches, only_the_clients_own_are_removed) {
  other.ask(get("/", watched));
  EXPECT_EQ(c.ask(remove_watches("/")), errc::no_watcher);
  EXPECT_EQ(c.ask(check_watches("/")), errc::no_watcher);
  c.ask(get("/", watched));
  EXPECT_EQ(c.ask(remove_watches("/")), ok);
  c.ask(set("/", "x"));
  EXPECT_EQ(other.take_events(), lines{"changed /"});
}

TEST_F(watches, removing_a_recursive_watch_keeps_the_other) {
  other.ask(create("/a"));
  c.ask(add_recursive_watch("/"));
  c.ask(add_recursive_watch("/a"));
  EXPECT_EQ(c.ask(remove_watches("/a")), ok);
  other.ask(create("/a/b"));
  EXPECT_EQ(c.take_events(), lines{"created /a/b"});
  EXPECT_EQ(c.ask(remove_watches("/")), ok);
  other.ask(create("/a/c"));
  EXPECT_EQ(c.take_events(), lines{});
}

TEST_F(watches, removing_a_plain_watch_keeps_the_recursive_watch_above) {
  other.ask(create("/a"));
  c.ask(add_recursive_watch("/"));
  c.ask(get("/a", watched));
  EXPECT_EQ(c.ask(remove_watches("/a")), ok);
  other.ask(create("/a/b"));
  EXPECT_EQ(c.take_events(), lines{"created /a/b"});
}

TEST_F(watches, check_watches_keeps_them) {
  c.ask(get("/", watched));
  EXPECT_EQ(c.ask(check_watches("/", watch_type::data)), ok);
  EXPECT_EQ(c.ask(check_watches("/", watch_type::any)), ok);
  EXPECT_EQ(c.ask(check_watches("/", watch_type::children)), errc::no_watcher);
  EXPECT_EQ(c.ask(check_watches("/zookeeper", watch_type::any)), errc::no_watcher);
  other.ask(set("/", "x"));
  EXPECT_EQ(c.take_events(), lines{"changed /"});
  EXPECT_EQ(c.ask(check_watches("/", watch_type::data)), errc::no_watcher);
  c.ask(children("/", watched));
  EXPECT_EQ(c.ask(check_watches("/", watch_type::children)), ok);
  EXPECT_EQ(c.ask(check_watches("/", watch_type::any)), ok);
  EXPECT_EQ(c.ask(check_watches("/", watch_type::data)), errc::no_watcher);
}

TEST_F(watches, unknown_kinds) {
  c.ask(get("/", watched));
  for (const std::int32_t type : {-1, 0, 4, 100}) {
    EXPECT_EQ(c.ask(remove_watches("/", type)), errc::marshalling_error) << type;
    EXPECT_EQ(c.ask(check_watches("/", type)), errc::marshalling_error) << type;
  }
  EXPECT_EQ(left(), 1u);
}

}  // namespace
}  // namespace conclave::server_impl
