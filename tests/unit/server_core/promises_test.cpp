// The guarantees that locks need, one test suite for each:
//
//   1  writes of an expired session are refused, inside a multi too
//   2  no request of a superseded connection is applied after its session has reconnected
//   3  a client that has seen a later zxid than the server is refused
//   4  on every connection, the event of a change arrives before any reply that shows the change

#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

// All requests that can change something. "/old" exists.
std::vector<request> all_writes() {
  return {create("/new"),
          create2("/new"),
          create_ephemeral("/new"),
          create_sequential("/new"),
          create_container("/new"),
          create_ttl("/new", 1000),
          remove("/old"),
          set("/old", "new"),
          set_acl("/old", world(permission::read)),
          multi({create("/new"), remove("/old")}),
          multi({check("/old"), set("/old", "new"), create_ephemeral("/new")}),
          close_session()};
}

struct promise : ::testing::Test {
  test_server server;
  client& other = server.open_local_session();
  node_stat old;

  promise() { old = other.ask(create2("/old", "data")).stat; }

  void expect_untouched() {
    const auto now = other.ask(get("/old"));
    EXPECT_EQ(now, ok);
    EXPECT_EQ(now.data, "data");
    EXPECT_EQ(now.stat, old);
    EXPECT_EQ(other.ask(children("/")).names, (lines{"old", "zookeeper"}));
  }
};

// --- guarantee 1

using writes_of_an_expired_session_are_refused = promise;

TEST_F(writes_of_an_expired_session_are_refused, after_the_expiry) {
  auto& c = server.open_session(10s);
  server.pass(10s);
  const auto zxid = server.core().zxid();
  for (const auto& r : all_writes()) EXPECT_EQ(c.ask(r), unanswered);
  EXPECT_TRUE(c.closed());
  EXPECT_EQ(server.core().zxid(), zxid);
  expect_untouched();
}

TEST_F(writes_of_an_expired_session_are_refused, in_the_turn_of_the_expiry) {
  for (const auto& r : all_writes()) {
    auto& c = server.open_session(10s);
    server.stall(10s);
    server.turn([&] {
      server.core().expire();
      const auto zxid = server.core().zxid();
      c.send(r);  // was in flight
      EXPECT_EQ(server.core().zxid(), zxid);
    });
    EXPECT_EQ(c.next_reply(), unanswered);
    EXPECT_TRUE(c.closed());
  }
  expect_untouched();
}

TEST_F(writes_of_an_expired_session_are_refused, when_it_was_closed_before) {
  for (const auto& r : all_writes()) {
    auto& c = server.open_session();
    server.turn([&] {
      c.send(close_session());
      c.send(r);
    });
    EXPECT_EQ(c.next_reply(), ok);
    EXPECT_EQ(c.next_reply(), unanswered);
  }
  expect_untouched();
}

TEST_F(writes_of_an_expired_session_are_refused, when_its_process_has_ended) {
  for (const auto& r : all_writes()) {
    auto& c = server.open_local_session();
    server.turn([&] {
      server.core().disconnected(c.id());
      server.core().process_ended(c.session());
      c.send(r);
    });
    EXPECT_FALSE(server.is_alive(c.session()));
    EXPECT_EQ(c.next_reply(), unanswered);
  }
  expect_untouched();
}

TEST_F(writes_of_an_expired_session_are_refused, when_it_tries_to_reconnect) {
  auto& c = server.open_session(10s);
  server.pass(10s);
  server.turn([&] {
    auto& again = server.reconnect(c);
    for (const auto& r : all_writes()) again.send(r);
  });
  expect_untouched();
}

// A session that is overdue but not yet expired is alive, and its ephemeral nodes still exist.
TEST_F(writes_of_an_expired_session_are_refused, but_a_request_before_the_expiry_keeps_it_alive) {
  auto& c = server.open_session(10s);
  c.ask(create_ephemeral("/e"));
  other.ask(exists("/e", watched));
  server.stall(10s);
  EXPECT_EQ(c.ask(multi({check("/e"), set("/old", "mine")})), ok);
  EXPECT_EQ(other.take_events(), lines{});
  server.pass(9999ms);
  EXPECT_TRUE(server.is_alive(c.session()));
}

// --- guarantee 2

using nothing_of_a_superseded_connection_is_applied = promise;

TEST_F(nothing_of_a_superseded_connection_is_applied, after_the_session_reconnected) {
  for (const auto& r : all_writes()) {
    auto& before = server.open_session();
    auto& after = server.reconnect(before);
    EXPECT_EQ(before.ask(r), unanswered);
    EXPECT_TRUE(before.closed());
    EXPECT_EQ(after.ask(ping()), ok);
  }
  expect_untouched();
}

TEST_F(nothing_of_a_superseded_connection_is_applied, in_the_same_turn) {
  for (const auto& r : all_writes()) {
    auto& before = server.open_session();
    server.turn([&] {
      server.reconnect(before);
      const auto zxid = server.core().zxid();
      before.send(r);
      EXPECT_EQ(server.core().zxid(), zxid);
    });
    EXPECT_EQ(before.next_reply(), unanswered);
    EXPECT_TRUE(server.is_alive(before.session()));
    EXPECT_FALSE(server.core().awaits_reconnect(before.session()));
  }
  expect_untouched();
}

TEST_F(nothing_of_a_superseded_connection_is_applied,
       but_earlier_requests_are_applied_and_answered) {
  auto& before = server.open_session();
  server.turn([&] {
    before.send(create("/new"));
    server.reconnect(before).send(exists("/new"));
    before.send(remove("/new"));
  });
  EXPECT_EQ(before.next_reply(), ok);
  EXPECT_EQ(before.next_reply(), unanswered);
  EXPECT_EQ(other.ask(exists("/new")), ok);
}

TEST_F(nothing_of_a_superseded_connection_is_applied, after_several_reconnects) {
  auto& first = server.open_session();
  auto& second = server.reconnect(first);
  auto& third = server.reconnect(second);
  for (auto* old_one : {&first, &second}) {
    EXPECT_TRUE(old_one->closed());
    EXPECT_EQ(old_one->ask(remove("/old")), unanswered);
  }
  EXPECT_EQ(third.ask(ping()), ok);
  expect_untouched();
}

// --- guarantee 3

using a_client_ahead_of_the_server_is_refused = promise;

TEST_F(a_client_ahead_of_the_server_is_refused, with_a_new_session) {
  auto& c = server.connect();
  test_server::connect_parameters h;
  h.seen_zxid = server.core().zxid() + 1;
  const auto sessions = server.core().sessions().size();
  server.turn([&] {
    server.handshake(c, h);
    for (const auto& r : all_writes()) c.send(r);
  });
  EXPECT_FALSE(c.handshake());
  EXPECT_TRUE(c.closed());
  EXPECT_EQ(server.core().sessions().size(), sessions);
  expect_untouched();
}

TEST_F(a_client_ahead_of_the_server_is_refused, and_cannot_send_a_second_handshake) {
  auto& c = server.connect();
  test_server::connect_parameters ahead;
  ahead.seen_zxid = server.core().zxid() + 1;
  const auto sessions = server.core().sessions().size();
  server.turn([&] {
    server.handshake(c, ahead);
    server.handshake(c, {});
    c.send(remove("/old"));
  });
  EXPECT_FALSE(c.handshake());
  EXPECT_EQ(server.core().sessions().size(), sessions);
  expect_untouched();
}

TEST_F(a_client_ahead_of_the_server_is_refused, with_an_existing_session_that_is_not_moved) {
  auto& before = server.open_session();
  auto& c = server.connect();
  test_server::connect_parameters h;
  h.session = before.session();
  h.password = before.handshake()->password;
  h.seen_zxid = INT64_MAX;
  server.handshake(c, h);
  EXPECT_FALSE(c.handshake())
      << "must be closed without a reply, so that the client tries another server";
  EXPECT_TRUE(c.closed());
  EXPECT_FALSE(before.closed());
  EXPECT_EQ(before.ask(ping()), ok);
}

TEST_F(a_client_ahead_of_the_server_is_refused, and_a_client_that_is_not_ahead_is_accepted) {
  for (const auto behind : {0, 1, 5}) {
    auto& c = server.connect();
    test_server::connect_parameters h;
    h.seen_zxid = server.core().zxid() - behind;
    server.handshake(c, h);
    EXPECT_TRUE(c.handshake()) << behind;
  }
}

TEST_F(a_client_ahead_of_the_server_is_refused, when_an_older_copy_of_the_disk_is_used) {
  const auto older = server.stored();
  auto& c = server.open_session();
  c.ask(create("/new"));
  server.disk() = older;
  core restored{default_options(), older.load(), 0, {server.now(), 0}};
  restored.connected(1, {});
  std::string handshake_result;
  wire::writer{handshake_result}(
      wire::connect_request{0, c.last_zxid(), 10'000, 0, std::string(16, '\0')});
  restored.receive(1, handshake_result);
  EXPECT_TRUE(restored.is_closing(1));
  EXPECT_TRUE(restored.output(1).empty());
}

// --- guarantee 4

using events_come_before_newer_state = promise;

TEST_F(events_come_before_newer_state, on_the_connection_that_makes_the_change) {
  auto& c = server.open_session();
  const auto journal_of = [&](const request& r) {
    c.ask(get("/old", watched));
    c.ask(exists("/new", watched));
    c.ask(children("/", watched));
    c.take_journal();
    c.ask(r);
    auto journal = c.take_journal();
    EXPECT_TRUE(journal.back().starts_with("answer"));
    journal.pop_back();
    return journal;
  };
  EXPECT_EQ(journal_of(set("/old", "x")), lines{"changed /old"});
  EXPECT_EQ(journal_of(create("/new")), (lines{"created /new", "children /"}));
  EXPECT_EQ(journal_of(remove("/old")), (lines{"removed /old", "children /"}));
}

TEST_F(events_come_before_newer_state, on_a_connection_that_reads_in_the_same_turn) {
  auto& reader = server.open_session();
  reader.ask(get("/old", watched));
  reader.take_journal();
  server.turn([&] {
    reader.send(get("/old"));  // 2: before the change
    other.send(set("/old", "changed"));
    reader.send(get("/old"));  // 3: after the change
  });
  EXPECT_EQ(reader.take_journal(), (lines{"answer 2", "changed /old", "answer 3"}));
  EXPECT_EQ(reader.next_reply().data, "data");
  EXPECT_EQ(reader.next_reply().data, "changed");
}

TEST_F(events_come_before_newer_state, on_all_connections_for_every_kind_of_reply) {
  auto& reader = server.open_session();
  for (const auto& shows : {get("/old"), exists("/old"), children("/old"), sync("/"), ping(),
                            exists("/missing"), set("/old", "again"), create("/old")}) {
    reader.ask(exists("/old", watched));
    reader.take_journal();
    server.turn([&] {
      other.send(set("/old", "x"));
      reader.send(shows);
    });
    other.next_reply();
    reader.next_reply();
    const auto journal = reader.take_journal();
    ASSERT_EQ(journal.size(), 2u);
    EXPECT_EQ(journal[0], "changed /old");
  }
}

TEST_F(events_come_before_newer_state, when_a_session_ends) {
  auto& owner = server.open_session();
  auto& reader = server.open_session();
  owner.ask(create_ephemeral("/e"));
  reader.ask(exists("/e", watched));
  owner.ask(exists("/e", watched));
  reader.take_journal();
  owner.take_journal();
  server.turn([&] {
    owner.send(close_session());
    reader.send(exists("/e"));
  });
  EXPECT_EQ(reader.take_journal(), (lines{"removed /e", "answer 2"}));
  EXPECT_EQ(owner.take_journal(), (lines{"removed /e", "answer 3"}));
}

TEST_F(events_come_before_newer_state, when_a_session_expires) {
  auto& owner = server.open_session(4s);
  owner.ask(create_ephemeral("/e"));
  other.ask(exists("/e", watched));
  other.take_journal();
  server.stall(4s);
  server.turn([&] {
    server.core().expire();
    other.send(exists("/e"));
  });
  EXPECT_EQ(other.next_reply(), errc::no_node);
  const auto journal = other.take_journal();
  ASSERT_EQ(journal.size(), 2u);
  EXPECT_EQ(journal[0], "removed /e");
}

TEST_F(events_come_before_newer_state, for_all_events_of_a_transaction) {
  auto& reader = server.open_session();
  reader.ask(get("/old", watched));
  reader.ask(exists("/new", watched));
  reader.ask(children("/", watched));
  reader.take_journal();
  server.turn([&] {
    other.send(multi({set("/old", "x"), create("/new"), remove("/old")}));
    reader.send(get("/new"));
  });
  EXPECT_EQ(reader.take_journal(),
            (lines{"changed /old", "created /new", "children /", "answer 4"}));
}

TEST_F(events_come_before_newer_state, for_events_missed_while_disconnected) {
  auto& reader = server.open_session();
  reader.ask(get("/old", watched));
  const auto seen = reader.last_zxid();
  reader.disconnect();
  other.ask(set("/old", "x"));
  auto& again = server.connect();
  server.turn([&] {
    test_server::connect_parameters h;
    h.session = reader.session();
    h.password = reader.handshake()->password;
    server.handshake(again, h);
    again.send(set_watches(seen, {"/old"}, {}, {}));
    again.send(get("/old"));
  });
  EXPECT_EQ(again.take_journal(), (lines{"greeted", "changed /old", "answer -8", "answer 1"}));
}

TEST_F(events_come_before_newer_state, and_nothing_is_sent_before_it_is_stored) {
  other.ask(get("/old", watched));
  server.begin();
  other.send(set("/old", "x"));
  EXPECT_TRUE(server.core().has_changes());
  server.crash();  // before the commit
  EXPECT_EQ(server.reconnect(other).ask(get("/old")).data, "data");
}

}  // namespace
}  // namespace conclave::server_impl
