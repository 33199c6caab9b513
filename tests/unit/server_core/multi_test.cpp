// Transactions.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

std::vector<errc> errors_of(const outcome& o) {
  std::vector<errc> all;
  for (const auto& part : o.parts) all.push_back(part.error);
  return all;
}

// --- success

TEST(multi, is_applied_in_order_with_one_zxid) {
  test_server server;
  auto& c = server.open_session();
  const auto before = server.core().zxid();
  const auto done = c.ask(multi({create("/a", "1"), create("/a/b"), set("/a", "2"), remove("/a/b"),
                                 create("/a/c"), check("/a", 1)}));
  EXPECT_EQ(done, ok);
  EXPECT_EQ(done.zxid, before + 1);
  const auto a = c.ask(get("/a"));
  EXPECT_EQ(a.data, "2");
  EXPECT_EQ(a.stat.czxid, before + 1);
  EXPECT_EQ(a.stat.mzxid, before + 1);
  EXPECT_EQ(a.stat.pzxid, before + 1);
  EXPECT_EQ(a.stat.version, 1);
  EXPECT_EQ(a.stat.cversion, 3);
  EXPECT_EQ(c.ask(children("/a")).names, lines{"c"});
}

TEST(multi, returns_a_result_for_each_part) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/there"));
  const auto done =
      c.ask(multi({create("/a"), create2("/b"), create_container("/c"), create_ttl("/t", 1000),
                   set("/there", "x"), check("/there"), remove("/a"), create_sequential("/s-")}));
  ASSERT_EQ(done.parts.size(), 8u);
  using wire::opcode;
  const auto expect = [&](std::size_t i, opcode as, std::string_view path) {
    EXPECT_EQ(done.parts[i].answered_as, as) << i;
    EXPECT_EQ(done.parts[i].path, path) << i;
  };
  expect(0, opcode::create, "/a");
  expect(1, opcode::create, "/b");  // without a stat, like Apache
  expect(2, opcode::create2, "/c");
  expect(3, opcode::create2, "/t");
  expect(4, opcode::set_data, "");
  expect(5, opcode::check, "");
  expect(6, opcode::remove, "");
  expect(7, opcode::create, "/s-0000000005");
  EXPECT_EQ(done.parts[2].stat, c.ask(exists("/c")).stat);
  EXPECT_EQ(done.parts[3].stat, c.ask(exists("/t")).stat);
  EXPECT_EQ(done.parts[4].stat, c.ask(exists("/there")).stat);
  EXPECT_EQ(server.stored().nodes.at("/c").row.kind, node_kind::container);
  EXPECT_EQ(server.stored().nodes.at("/t").row.kind, node_kind::ttl);
}

TEST(multi, uses_the_flags_of_a_creation_as_apache_does) {
  test_server server;
  auto& c = server.open_session();
  c.ask(multi(
      {create("/by_flag", "", mode::container),
       create("/by_number", "", mode::persistent, open_to_all(), wire::opcode::create_container)}));
  EXPECT_EQ(server.stored().nodes.at("/by_flag").row.kind, node_kind::container);
  EXPECT_EQ(server.stored().nodes.at("/by_number").row.kind, node_kind::persistent);
}

TEST(multi, returns_the_stat_at_each_step) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create("/a"));
  const auto done = c.ask(multi({set("/a", "1"), set("/a", "22"), set("/a", "333")}));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(done.parts[i].stat.version, static_cast<int>(i) + 1);
    EXPECT_EQ(done.parts[i].stat.data_length, static_cast<int>(i) + 1);
  }
}

TEST(multi, sees_its_earlier_steps) {
  test_server server;
  auto& c = server.open_session();
  EXPECT_EQ(c.ask(multi({create("/a"), remove("/a"), create("/a"), set("/a", "x"), check("/a", 1),
                         remove("/a", 1)})),
            ok);
  EXPECT_EQ(c.ask(exists("/a")), errc::no_node);
  EXPECT_EQ(errors_of(c.ask(multi({create("/b"), create("/b")}))),
            (std::vector{ok, errc::node_exists}));
  EXPECT_EQ(errors_of(c.ask(multi({create("/b"), create("/b/c"), remove("/b")}))),
            (std::vector{ok, ok, errc::not_empty}));
  EXPECT_EQ(errors_of(c.ask(multi({create_ephemeral("/b"), create("/b/c")}))),
            (std::vector{ok, errc::no_children_for_ephemerals}));
}

TEST(multi, uses_no_zxid_without_changes) {
  test_server server;
  auto& c = server.open_session();
  const auto before = server.core().zxid();
  const auto commits = server.commits();
  EXPECT_EQ(c.ask(multi({})).parts.size(), 0u);
  EXPECT_EQ(c.ask(multi({check("/"), check("/", 0)})).parts.size(), 2u);
  EXPECT_EQ(server.core().zxid(), before);
  EXPECT_EQ(server.commits(), commits);
}

TEST(multi, sends_its_events_before_the_reply) {
  test_server server;
  auto& c = server.open_session();
  c.ask(add_recursive_watch("/"));
  c.take_journal();
  c.ask(multi({create("/a"), set("/a", "x"), create("/a/b"), remove("/a/b"), remove("/a")}));
  EXPECT_EQ(c.take_journal(), (lines{"created /a", "changed /a", "created /a/b", "removed /a/b",
                                     "removed /a", "answer 2"}));
}

TEST(multi, does_not_store_a_node_that_it_creates_and_removes) {
  test_server server;
  auto& c = server.open_session();
  c.ask(multi({create("/a"), create("/a/b"), remove("/a/b"), remove("/a"), create("/c")}));
  EXPECT_EQ(server.last_batch(), (lines{"/c", "+/"}));
}

// --- failure

TEST(multi, a_failure_is_reported_for_its_part) {
  test_server server;
  auto& c = server.open_session();
  const auto failed =
      c.ask(multi({create("/a"), check("/"), set("/missing", "x"), create("/b"), check("/no")}));
  EXPECT_EQ(failed, ok);
  EXPECT_EQ(errors_of(failed), (std::vector{ok, ok, errc::no_node, errc::runtime_inconsistency,
                                            errc::runtime_inconsistency}));
  for (const auto& part : failed.parts) EXPECT_EQ(part.answered_as, wire::opcode::error);
  EXPECT_EQ(c.ask(exists("/a")), errc::no_node);
  EXPECT_EQ(c.ask(exists("/b")), errc::no_node);
}

TEST(multi, every_kind_of_error) {
  test_server server;
  auto& c = server.open_session();
  c.ask(create_with("/closed", world(permission::read)));
  c.ask(create("/full"));
  c.ask(create("/full/x"));
  const auto error = [&](const request& r) {
    return errors_of(c.ask(multi({create("/a"), r}))).at(1);
  };
  EXPECT_EQ(error(create("bad")), errc::bad_arguments);
  EXPECT_EQ(error(create("/x", "", 9)), errc::bad_arguments);
  EXPECT_EQ(error(create("/x", "", mode::persistent, acl{})), errc::invalid_acl);
  EXPECT_EQ(error(create("/closed/x")), errc::no_auth);
  EXPECT_EQ(error(remove("/closed/x")), errc::no_auth);
  EXPECT_EQ(error(set("/closed", "x")), errc::no_auth);
  EXPECT_EQ(error(remove("/full")), errc::not_empty);
  EXPECT_EQ(error(remove("/zookeeper")), errc::bad_arguments);
  EXPECT_EQ(error(remove("/full/x", 3)), errc::bad_version);
  EXPECT_EQ(error(set("/full", "x", 3)), errc::bad_version);
  EXPECT_EQ(error(check("/full", 3)), errc::bad_version);
  EXPECT_EQ(error(create("/a")), errc::node_exists);
  EXPECT_EQ(error(create_ttl("/x", 0)), errc::bad_arguments);
}

TEST(multi, a_malformed_part_fails_the_transaction) {
  test_server server;
  auto& c = server.open_session();
  for (const auto& part : {get("/"), children("/"), set_acl("/", open_to_all()), ping(),
                           close_session(), create({}), remove({}), set({}, ""), check({})}) {
    EXPECT_EQ(c.ask(multi({create("/a"), part})), errc::marshalling_error)
        << static_cast<int>(part.type);
    EXPECT_EQ(c.ask(exists("/a")), errc::no_node);
  }
}

// The tree as clients see it and as it is stored.
struct snapshot {
  explicit snapshot(test_server& server, client& c) : zxid{server.core().zxid()} {
    data_size = server.core().nodes().data_size();
    for (const auto& [path, n] : server.stored().nodes) {
      const auto read = c.ask(get(path));
      rows.push_back(path + " = " + read.data.value_or("(null)"));
      stats.push_back(read.stat);
      names.push_back(c.ask(children(path)).names);
    }
    ephemerals = c.ask(get_ephemerals()).names;
  }
  friend bool operator==(const snapshot&, const snapshot&) = default;

  std::int64_t zxid, data_size;
  lines rows, ephemerals;
  std::vector<node_stat> stats;
  std::vector<lines> names;
};

struct failed_multi : ::testing::Test {
  test_server server;
  client& c = server.open_session();
  client& watcher = server.open_session();

  failed_multi() {
    c.ask(create("/a", "old"));
    c.ask(create("/a/x", "x"));
    c.ask(create("/b", "null"));
    c.ask(set("/b", std::string_view{}));
    c.ask(create_ephemeral("/e"));
    c.ask(create_container("/c"));
    c.ask(create_ttl("/t", 1000));
    c.ask(create("/apart"));
    watcher.ask(add_recursive_watch("/"));
    watcher.ask(exists("/new", watched));
    for (const auto path : {"/", "/a"}) watcher.ask(children(path, watched));
    for (const auto path : {"/a", "/b", "/a/x"}) watcher.ask(get(path, watched));
  }

  // Checks that the failed transaction has no effect, in its own turn and in one with other
  // changes.
  void expect_undone(std::vector<request> parts) {
    parts.push_back(check("/missing"));
    const snapshot before{server, c};
    const auto commits = server.commits();
    EXPECT_EQ(errors_of(c.ask(multi(parts))).back(), errc::no_node);
    EXPECT_EQ((snapshot{server, c}), before);
    EXPECT_EQ(server.commits(), commits) << "there was nothing to store";
    EXPECT_EQ(watcher.take_events(), lines{});

    // stored_rows refuses unchanged rows, so this also checks which rows are marked as changed.
    server.turn([&] {
      c.send(create("/apart/y"));
      c.send(set("/b", "changed"));
      c.send(multi(parts));
      c.send(remove("/apart/y"));
    });
    EXPECT_EQ(c.next_reply(), ok);
    EXPECT_EQ(c.next_reply(), ok);
    EXPECT_EQ(errors_of(c.next_reply()).back(), errc::no_node);
    EXPECT_EQ(c.next_reply(), ok);
    EXPECT_EQ(server.last_batch(), (lines{"/b", "+/apart"}));
    const snapshot after{server, c};
    server.crash();
    EXPECT_EQ((snapshot{server, server.reconnect(c)}), after);
  }
};

TEST_F(failed_multi, create) {
  expect_undone({create("/new"), create("/new/deep"), create("/a/n")});
}

TEST_F(failed_multi, create_sequential) {
  expect_undone({create_sequential("/a/s-"), create_sequential("/a/s-")});
}

TEST_F(failed_multi, create_other_kinds) {
  expect_undone({create_ephemeral("/e2"), create_container("/c2"), create_ttl("/t2", 1)});
}

TEST_F(failed_multi, remove) {
  expect_undone({remove("/a/x"), remove("/a"), remove("/e"), remove("/c"), remove("/t")});
}

TEST_F(failed_multi, set) {
  expect_undone({set("/a", "new"), set("/b", "not null"), set("/a", "")});
}

TEST_F(failed_multi, set_and_remove) { expect_undone({set("/a/x", "new"), remove("/a/x")}); }

TEST_F(failed_multi, remove_and_create_again) {
  expect_undone({remove("/a/x"), create("/a/x", "other"), set("/a/x", "another")});
}

TEST_F(failed_multi, remove_create_remove_create) {
  expect_undone({remove("/e"), create("/e"), remove("/e"), create_container("/e"), create("/e/f")});
}

TEST_F(failed_multi, create_set_remove) {
  expect_undone(
      {create("/new", "1"), set("/new", "2"), remove("/new"), create("/new", "3"), remove("/new")});
}

TEST_F(failed_multi, remove_a_parent_and_create_it_again_with_children) {
  expect_undone({remove("/a/x"), remove("/a"), create("/a"), create("/a/x"), create("/a/z"),
                 remove("/a/x"), set("/a", "new")});
}

TEST_F(failed_multi, everything_at_once) {
  expect_undone({set("/b", "1"), create("/b/1"), remove("/b/1"), set("/b", "2"), remove("/b"),
                 create_ephemeral("/b"), set("/b", "3"), remove("/b"), create("/b", "4"),
                 create("/b/2"), set("/", "root")});
}

TEST_F(failed_multi, after_changes_that_are_not_stored_yet) {
  server.turn([&] {
    c.send(create("/young", "1"));
    c.send(create("/young/child"));
    c.send(
        multi({remove("/young/child"), set("/young", "2"), remove("/young"), check("/missing")}));
  });
  EXPECT_EQ(c.next_reply(), ok);
  EXPECT_EQ(c.next_reply(), ok);
  EXPECT_EQ(c.next_reply(), ok);
  EXPECT_EQ(c.ask(get("/young")).data, "1");
  const snapshot before{server, c};
  server.crash();
  EXPECT_EQ((snapshot{server, server.reconnect(c)}), before);
}

TEST_F(failed_multi, in_the_turn_of_a_removal) {
  server.turn([&] {
    c.send(remove("/a/x"));
    c.send(multi({create("/a/x"), remove("/a/x"), check("/missing")}));
    c.send(multi({create("/a/x"), remove("/b"), check("/missing")}));
  });
  c.next_reply(), c.next_reply(), c.next_reply();
  EXPECT_EQ(server.last_batch(), (lines{"-/a/x", "+/a"}));
  EXPECT_EQ(c.ask(exists("/a/x")), errc::no_node);
  EXPECT_EQ(c.ask(exists("/b")), ok);
}

TEST_F(failed_multi, keeps_the_watches) {
  c.ask(multi({create("/new"), remove("/a/x"), set("/b", "x"), check("/missing")}));
  EXPECT_EQ(watcher.take_events(), lines{});
  c.ask(multi({create("/new"), set("/b", "x")}));
  EXPECT_EQ(watcher.take_events(), (lines{"created /new", "children /", "changed /b"}));
}

}  // namespace
}  // namespace conclave::server_impl
