// The store gets the final state of each changed row and no others.

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

struct stored : ::testing::Test {
  test_server server;
  client& c = server.open_session();

  // The rows that these requests write in one turn.
  lines written_by(const std::vector<request>& all) {
    const auto commits = server.commits();
    server.turn([&] {
      for (const auto& r : all) c.send(r);
    });
    while (c.unread_replies() > 0) c.next_reply();
    if (server.commits() == commits) return {"nothing"};
    auto batch = server.last_batch();
    std::sort(batch.begin(), batch.end());
    return batch;
  }
};

TEST(first_commit, contains_the_servers_own_nodes) {
  test_server server;
  EXPECT_EQ(server.commits(), 1);
  EXPECT_EQ(server.last_batch(),
            (lines{"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"}));
}

TEST_F(stored, a_new_node_and_its_parents_count) {
  EXPECT_EQ(written_by({create("/a")}), (lines{"+/", "/a"}));
}

TEST_F(stored, a_parent_with_much_data_is_not_written_for_a_child) {
  written_by({create("/a", std::string(100'000, 'x'))});
  EXPECT_EQ(written_by({create("/a/b")}), (lines{"+/a", "/a/b"}));
  EXPECT_EQ(written_by({remove("/a/b")}), (lines{"+/a", "-/a/b"}));
}

TEST_F(stored, data_and_acl_are_the_nodes_own_row) {
  written_by({create("/a")});
  EXPECT_EQ(written_by({set("/a", "x")}), lines{"/a"});
  EXPECT_EQ(written_by({set_acl("/a", world(permission::read | permission::admin))}), lines{"/a"});
}

TEST_F(stored, many_changes_of_a_node_are_one_row) {
  written_by({create("/a")});
  EXPECT_EQ(
      written_by({set("/a", "1"), set("/a", "2"), set_acl("/a", open_to_all()), set("/a", "3")}),
      lines{"/a"});
  EXPECT_EQ(server.stored().nodes.at("/a").row.version, 3);
  EXPECT_EQ(written_by({create("/b"), set("/b", "1"), create("/b/x"), create("/b/y")}),
            (lines{"+/", "+/b", "/b", "/b/x", "/b/y"}));
}

TEST_F(stored, a_node_created_and_removed_in_one_turn_is_not_written) {
  EXPECT_EQ(written_by({create("/a"), set("/a", "x"), remove("/a")}), lines{"+/"});
  EXPECT_EQ(written_by({create("/a"), create("/a/b"), remove("/a/b"), remove("/a")}), lines{"+/"});
}

TEST_F(stored, a_node_removed_and_created_again_is_written_as_both) {
  written_by({create("/a", "old")});
  EXPECT_EQ(written_by({remove("/a"), create("/a", "new")}), (lines{"+/", "-/a", "/a"}));
  EXPECT_EQ(written_by({remove("/a"), create("/a"), remove("/a")}), (lines{"+/", "-/a"}));
}

TEST_F(stored, a_change_before_the_removal_is_not_written) {
  written_by({create("/a"), create("/a/b")});
  EXPECT_EQ(written_by({set("/a", "x"), remove("/a/b"), remove("/a")}),
            (lines{"+/", "-/a", "-/a/b"}));
}

TEST_F(stored, reads_and_refusals_write_nothing) {
  EXPECT_EQ(written_by({get("/", watched), exists("/x", watched), children("/"), sync("/"), ping(),
                        create("/"), remove("/x"), set("/x", ""), check("/"), multi({check("/")}),
                        auth("digest", "ann:secret"), add_recursive_watch("/")}),
            lines{"nothing"});
}

TEST_F(stored, sessions) {
  EXPECT_EQ(server.stored().sessions.size(), 1u);
  auto& other = server.open_session(20s);
  EXPECT_EQ(server.stored().sessions.at(other.session()).timeout_ms, 20'000);
  const auto commits = server.commits();
  server.reconnect(other, 20s);
  other.ask(ping());
  EXPECT_EQ(server.commits(), commits) << "where a session is attached is not stored";
  server.reconnect(other, 30s);
  EXPECT_EQ(server.commits(), commits + 1);
  EXPECT_EQ(server.stored().sessions.at(other.session()).timeout_ms, 30'000);
  server.pass(30s);
  EXPECT_TRUE(server.stored().sessions.empty());
}

TEST_F(stored, an_ended_session_of_the_same_turn) {
  auto& brief = server.connect();
  server.turn([&] {
    server.handshake(brief, {});
    brief.send(create_ephemeral("/e"));
    brief.send(create("/p"));
    brief.send(close_session());
  });
  EXPECT_EQ(server.last_batch(), (lines{"/p", "+/"}));
  EXPECT_FALSE(server.stored().sessions.contains(brief.session()));
}

// '-' and '.' sort before '/', so these nodes are between a node and its children.
TEST_F(stored, all_children_are_loaded_for_any_names) {
  for (const auto path :
       {"/a", "/a-b", "/a-b/c", "/a.b", "/a.b/c", "/a/b", "/a/b-c", "/a/b/c", "/a/c", "/z"})
    c.ask(create(path, path));
  c.ask(create_ephemeral("/a/e"));
  const auto bytes = server.core().nodes().data_size();
  server.crash();
  auto& again = server.reconnect(c);
  const auto names = [&](std::string_view path) { return again.ask(children(path)).names; };
  EXPECT_EQ(names("/"), (lines{"a", "a-b", "a.b", "z", "zookeeper"}));
  EXPECT_EQ(names("/a"), (lines{"b", "b-c", "c", "e"}));
  EXPECT_EQ(names("/a-b"), lines{"c"});
  EXPECT_EQ(names("/a.b"), lines{"c"});
  EXPECT_EQ(names("/a/b"), lines{"c"});
  EXPECT_EQ(server.core().nodes().count_below("/a"), 5u);
  EXPECT_EQ(server.core().nodes().ephemerals_of(c.session()), lines{"/a/e"});
  EXPECT_EQ(server.core().nodes().data_size(), bytes);
}

TEST_F(stored, without_a_children_row_pzxid_is_czxid) {
  const auto made = c.ask(create2("/a")).stat;
  server.disk().nodes.at("/a").children = {};
  server.crash();
  EXPECT_EQ(server.reconnect(c).ask(exists("/a")).stat, made);
}

TEST_F(stored, the_statistics_are_updated) {
  const auto& tree = server.core().nodes();
  const auto bytes = tree.data_size();
  c.ask(create("/a", "12345"));
  EXPECT_EQ(tree.size(), 5u);
  EXPECT_EQ(tree.data_size(), bytes + 7);
  c.ask(set("/a", "1"));
  EXPECT_EQ(tree.data_size(), bytes + 3);
  c.ask(multi({set("/a", "123"), remove("/a"), create("/b", "x"), check("/none")}));
  EXPECT_EQ(tree.data_size(), bytes + 3);
  c.ask(create_ephemeral("/e"));
  EXPECT_EQ(tree.ephemeral_count(), 1u);
  EXPECT_EQ(tree.ephemerals().size(), 1u);
  c.ask(remove("/e"));
  c.ask(remove("/a"));
  EXPECT_EQ(tree.ephemeral_count(), 0u);
  EXPECT_EQ(tree.ephemerals().size(), 0u);
  EXPECT_EQ(tree.size(), 4u);
  EXPECT_EQ(tree.data_size(), bytes);
}

// --- loading and sending

TEST(touched, contains_connections_with_output) {
  test_server server;
  auto& a = server.open_session();
  auto& b = server.open_session();
  b.ask(get("/", watched));
  server.begin();
  EXPECT_TRUE(server.core().take_ready().empty());
  a.send(ping());
  EXPECT_EQ(server.core().take_ready(), std::vector<connection_id>{a.id()});
  a.send(set("/", "x"));
  EXPECT_EQ(server.core().take_ready(), (std::vector<connection_id>{a.id(), b.id()}));
  EXPECT_TRUE(server.core().take_ready().empty()) << "once each";
  a.send(ping());
  a.send(ping());
  server.core().disconnected(b.id());
  EXPECT_EQ(server.core().take_ready(), std::vector<connection_id>{a.id()});
  server.crash();
}

}  // namespace
}  // namespace conclave::server_impl
