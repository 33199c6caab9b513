// Connections that are lost at chosen places: requests, watches and the session.
#include "integration/harness.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

using event = session_event::kind;

constexpr std::int32_t op_create2 = 15;
constexpr std::int32_t op_get_data = 4;
constexpr std::int32_t op_set_watches = 101;
constexpr std::int32_t op_set_watches2 = 105;

class reconnecting : public ::testing::Test {
 protected:
  link_proxy proxy{shared_server().port()};
  client zk{proxy.connect_string()};
  session_recorder events{zk};
  client other{shared_server().connect_string()};
  std::string root = fresh_node(other, "reconnect");

  void SetUp() override {
    ASSERT_TRUE(zk.wait_connected(wait_limit));
    zk.sync();
  }
};

TEST_F(reconnecting, the_session_continues) {
  const auto session = zk.session_id();
  zk.create(root + "/e", "", create_mode::ephemeral);
  proxy.drop_links();
  const auto suspended = events.wait_for(event::suspended);
  ASSERT_TRUE(suspended);
  EXPECT_TRUE(suspended->reason);
  ASSERT_TRUE(events.wait_for(event::reconnected));
  EXPECT_EQ(zk.session_id(), session);
  EXPECT_TRUE(zk.exists(root + "/e"));
}

TEST_F(reconnecting, a_write_whose_reply_is_lost_has_an_unknown_outcome_and_happened_once) {
  proxy.drop_reply_to(op_create2);
  const auto ec = code_of([&] { zk.create(root + "/s-", "", create_mode::persistent_sequential); });
  EXPECT_EQ(ec, errc::connection_loss);
  EXPECT_EQ(ec, condition::outcome_unknown);
  zk.sync(root);
  EXPECT_EQ(zk.children(root).names.size(), 1u) << "it is not repeated";
}

TEST_F(reconnecting, a_write_that_did_not_arrive_has_an_unknown_outcome) {
  proxy.drop_request(op_create2);
  EXPECT_EQ(code_of([&] { zk.create(root + "/a"); }), errc::connection_loss);
  zk.sync(root);
  EXPECT_FALSE(zk.exists(root + "/a"));
}

TEST_F(reconnecting, a_read_whose_reply_is_lost_is_repeated) {
  proxy.drop_reply_to(op_get_data);
  EXPECT_EQ(zk.get(root).data, "");
  EXPECT_EQ(proxy.faults(), 1u);
  EXPECT_EQ(proxy.requests(op_get_data), 2u);
}

TEST_F(reconnecting, operations_wait_while_there_is_no_connection) {
  proxy.disconnect();
  ASSERT_TRUE(events.wait_for(event::suspended));
  inbox<error_code> got;
  zk.async_create(root + "/later", "", {}, [&](error_code ec, create_result) { got.put(ec); });
  EXPECT_EQ(got.take(30ms), std::nullopt);
  proxy.heal();
  EXPECT_EQ(got.take(), error_code{});
}

TEST_F(reconnecting, operations_fail_if_no_server_can_be_reached) {
  client_options options = with_timeout(30s);
  options.connect_wait = 100ms;
  client impatient{proxy.connect_string(), options};
  ASSERT_TRUE(impatient.wait_connected(wait_limit));
  proxy.disconnect();
  session_recorder seen{impatient};
  while (impatient.state() == session_state::connected) seen.next(10ms);
  EXPECT_EQ(code_of([&] { impatient.create(root + "/never"); }), errc::not_connected);
}

TEST_F(reconnecting, one_shot_watches_are_set_again_and_missed_events_are_delivered) {
  watch_recorder data;
  watch_recorder children;
  watch_recorder creation;
  watch_recorder quiet;
  zk.get(root, data.get());
  zk.children(root, children.get());
  zk.exists(root + "/new", creation.get());
  const auto still = other.create(root + "-still").path;
  zk.get(still, quiet.get());
  proxy.disconnect();
  ASSERT_TRUE(events.wait_for(event::suspended));
  other.set(root, "while you were away");
  other.create(root + "/new");
  proxy.heal();
  EXPECT_EQ(data.take()->type, watch_event::kind::changed);
  EXPECT_EQ(children.take()->type, watch_event::kind::children_changed);
  EXPECT_EQ(creation.take()->type, watch_event::kind::created);
  EXPECT_EQ(proxy.requests(op_set_watches), 1u);
  EXPECT_EQ(quiet.size(), 0u);
  other.set(still, "now");
  EXPECT_EQ(quiet.take()->type, watch_event::kind::changed)
      << "no event was missed, so the watch still exists";
}

TEST_F(reconnecting, a_deletion_while_disconnected_is_reported) {
  watch_recorder seen;
  const auto path = other.create(root + "/gone").path;
  zk.get(path, seen.get());
  proxy.disconnect();
  ASSERT_TRUE(events.wait_for(event::suspended));
  other.remove(path);
  proxy.heal();
  EXPECT_EQ(seen.take()->type, watch_event::kind::deleted);
}

TEST_F(reconnecting, persistent_and_recursive_watches_are_set_again) {
  watch_recorder persistent;
  watch_recorder recursive;
  // On two nodes, because servers before 3.9 store one kind of watch for each.
  zk.add_watch(root, watch_mode::persistent, persistent.get());
  const auto tree = other.create(root + "-tree").path;
  zk.add_watch(tree, watch_mode::recursive, recursive.get());
  proxy.drop_links();
  ASSERT_TRUE(events.wait_for(event::reconnected));
  zk.sync();
  EXPECT_EQ(proxy.requests(op_set_watches2), 1u);
  EXPECT_EQ(persistent.take()->type, watch_event::kind::possibly_missed);
  EXPECT_EQ(recursive.take()->type, watch_event::kind::possibly_missed);
  other.create(root + "/child");
  other.create(tree + "/child");
  EXPECT_EQ(persistent.take()->type, watch_event::kind::children_changed);
  EXPECT_EQ(recursive.take()->type, watch_event::kind::created);
}

TEST_F(reconnecting, watches_beyond_one_frame_are_set_again_in_pieces) {
  watch_recorder seen;
  const std::string filler(500, 'x');
  constexpr int count = 3000;
  inbox<error_code> got;
  for (int i = 0; i < count; ++i)
    zk.async_exists(root + "/" + filler + std::to_string(i), seen.get(),
                    [&](error_code ec, std::optional<node_stat>) { got.put(ec); });
  for (int i = 0; i < count; ++i) ASSERT_EQ(got.take(), error_code{});
  proxy.drop_links();
  ASSERT_TRUE(events.wait_for(event::reconnected));
  zk.sync();
  EXPECT_GT(proxy.requests(op_set_watches), 10u);
  for (const int i : {0, count / 2, count - 1}) {
    other.create(root + "/" + filler + std::to_string(i));
    EXPECT_EQ(seen.take()->type, watch_event::kind::created);
  }
}

// The connection is lost after each frame, in each direction. All operations complete: reads
// succeed, and writes happen at most once.
TEST_F(reconnecting, every_operation_completes_after_a_connection_loss_after_any_frame) {
  for (const bool client_side : {true, false}) {
    for (std::size_t n = 0; n < 14; ++n) {
      const auto parent =
          other.create(root + "/" + (client_side ? "c" : "s") + std::to_string(n)).path;
      zk.sync();
      if (client_side)
        proxy.disconnect_after_client_frames(n);
      else
        proxy.disconnect_after_server_frames(n);
      inbox<error_code> writes;
      inbox<error_code> reads;
      for (int i = 0; i < 5; ++i) {
        zk.async_create(parent + "/" + std::to_string(i), "", {},
                        [&](error_code ec, create_result) { writes.put(ec); });
        zk.async_get(parent, [&](error_code ec, get_result) { reads.put(ec); });
      }
      std::size_t created = 0;
      std::size_t unknown = 0;
      for (int i = 0; i < 5; ++i) {
        const auto ec = writes.take();
        ASSERT_TRUE(ec);
        created += !*ec;
        unknown += *ec == condition::outcome_unknown;
        EXPECT_EQ(reads.take(), error_code{});
      }
      zk.sync(parent);
      const auto there = zk.children(parent).names.size();
      EXPECT_GE(there, created);
      EXPECT_LE(there, created + unknown);
      EXPECT_EQ(created + unknown, 5u);
    }
  }
  EXPECT_GT(proxy.faults(), 10u);
}

TEST_F(reconnecting, credentials_are_sent_again) {
  client_options options;
  options.credentials.emplace_back("digest", secret::from_memory("alice:secret"));
  client alice{proxy.connect_string(), options};
  alice.create(root + "/hers", "x");
  session_recorder seen{alice};
  proxy.drop_links();
  ASSERT_TRUE(seen.wait_for(event::reconnected));
  EXPECT_EQ(alice.get(root + "/hers").data, "x");
}

TEST_F(reconnecting, credentials_added_later_are_sent_again) {
  zk.add_auth({"digest", secret::from_memory("bob:secret")});
  zk.create(root + "/his", "x", {create_mode::persistent, creator_all_acl()});
  proxy.drop_links();
  ASSERT_TRUE(events.wait_for(event::reconnected));
  EXPECT_EQ(zk.get(root + "/his").data, "x");
}

TEST_F(reconnecting, the_other_hosts_of_the_list_are_tried) {
  link_proxy second{shared_server().port()};
  client_options options;
  options.shuffle_hosts = false;
  client two{proxy.connect_string() + "," + second.connect_string(), options};
  session_recorder seen{two};
  two.sync();
  EXPECT_EQ(second.links_accepted(), 0u);
  const auto session = two.session_id();
  proxy.disconnect();
  ASSERT_TRUE(seen.wait_for(event::reconnected));
  EXPECT_EQ(two.session_id(), session);
  EXPECT_EQ(second.links(), 1u);
}

TEST_F(reconnecting, the_reconnect_policy_can_be_replaced) {
  inbox<unsigned> asked;
  client_options options;
  options.reconnect = [&](unsigned n) {
    asked.put(n);
    return std::chrono::milliseconds{1};
  };
  client zk2{"127.0.0.1:1", options};
  for (unsigned n = 1; n < 5; ++n) EXPECT_EQ(asked.take(), n);
  zk2.close();
}

TEST_F(reconnecting, a_silent_server_is_disconnected_and_the_session_deadline_passes) {
  client quick{proxy.connect_string(), with_timeout(600ms)};
  session_recorder seen{quick};
  quick.sync();
  EXPECT_EQ(quick.session_timeout(), 600ms);
  const auto before = boot_clock::now();
  EXPECT_GT(quick.session_deadline(), before);
  EXPECT_LE(quick.session_deadline(), before + 540ms);
  proxy.blackhole(true);
  const auto suspended = seen.wait_for(event::suspended);
  ASSERT_TRUE(suspended);
  const auto deadline = quick.session_deadline();
  EXPECT_LE(deadline, before + 540ms + 200ms) << "only an answered ping could have extended it";
  proxy.disconnect();
  proxy.blackhole(false);
  proxy.heal();
  EXPECT_TRUE(seen.next());
}

// A machine that stops this process for a part of the short timeout can interrupt an attempt.
TEST_F(reconnecting, an_idle_session_is_kept_alive_by_pings) {
  constexpr int attempts = 5;
  for (int attempt = 1; attempt <= attempts; ++attempt) {
    client quick{proxy.connect_string(), with_timeout(500ms)};
    quick.sync();
    const auto session = quick.session_id();
    session_recorder seen{quick};
    const auto first = quick.session_deadline();
    const auto happened = seen.next(1500ms);
    if (happened && attempt < attempts) continue;
    EXPECT_EQ(happened, std::nullopt) << "nothing happens to an idle session";
    EXPECT_GT(quick.session_deadline(), first + 900ms);
    EXPECT_EQ(quick.session_id(), session);
    return;
  }
}

}  // namespace
}  // namespace conclave::testing
