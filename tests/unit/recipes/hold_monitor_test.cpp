// hold_monitor without a contender: when it reports suspension, restoration, loss and revocation,
// and when it has work to do.
#include "contender_parts.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;

constexpr auto session_timeout = 10s;

class hold_monitor : public parts_test {
 protected:
  hold_monitor() : parts_test{{.session_timeout = session_timeout}} {}

  recipes::session_clock::session_view view() { return link().session(); }
  // Starts a hold with new nodes.
  void hold(const lines& parents = {"/a"}) {
    begin(parents);
    ASSERT_FALSE(create().ec);
    parts->follows_connection = true;
    inside([&] { monitor().begin(view()); });
  }
  void inside(const std::function<void()>& f) {
    const auto scope = parts->scope();
    f();
  }
  bool has_work() { return monitor().has_work(); }
  void work() {
    run([&] { return monitor().work(); });
  }
  void work_while_needed() {
    for (int i = 0; i < 10 && has_work(); ++i) work();
    EXPECT_FALSE(has_work());
  }
  recipes::hold_monitor& monitor() { return parts->monitor; }
  const lines& journal() { return parts->journal->lines; }
};

TEST_F(hold_monitor, a_hold_that_begins_without_a_connection_is_suspended) {
  for (const bool connected : {true, false}) {
    begin();
    ASSERT_FALSE(create().ec);
    auto s = view();
    s.connected = connected;
    inside([&] { monitor().begin(s); });
    EXPECT_EQ(monitor().suspended(), !connected);
    EXPECT_EQ(journal(), lines{}) << "the contender reports the beginning of a hold";
    EXPECT_FALSE(has_work());
  }
}

TEST_F(hold_monitor, reports_the_loss_at_the_deadline_and_not_before) {
  hold();
  disconnect();
  const auto left = view().deadline - link().now();
  ASSERT_GT(left, 0s);
  world.advance(left - 1us);
  EXPECT_EQ(journal(), lines{"suspended"});
  world.advance(1us);
  EXPECT_EQ(journal(), (lines{"suspended", "lost deadline_passed"}));
}

// A server that ends the session also deletes the node.
TEST_F(hold_monitor, knows_why_a_node_was_deleted) {
  hold();
  EXPECT_EQ(monitor().why_deleted(), errc::node_deleted);
  disconnect();
  EXPECT_EQ(monitor().why_deleted(), errc::node_deleted);
  world.advance(session_timeout);
  EXPECT_EQ(monitor().why_deleted(), errc::deadline_passed);
  reconnect();
  hold();
  link().close();
  EXPECT_EQ(monitor().why_deleted(), errc::closed);
}

TEST_F(hold_monitor, restores_a_hold_only_after_its_nodes_were_verified) {
  struct {
    const char* name;
    std::function<void()> change;
    bool restored, deleted;
  } const all[]{
      {"unchanged", [] {}, true, false},
      {"deleted", [&] { by_hand().remove(nodes()[1].path()); }, false, true},
      {"replaced", [&] { replace_node(0); }, false, true},
  };
  for (const auto& each : all) {
    SCOPED_TRACE(each.name);
    hold({"/a", "/b"});
    disconnect();
    EXPECT_FALSE(has_work());  // without a connection
    reconnect();
    disconnect();  // the suspension is reported once
    each.change();
    reconnect();
    EXPECT_TRUE(has_work());
    EXPECT_TRUE(monitor().suspended());
    work();
    EXPECT_EQ(journal(), each.restored ? (lines{"suspended", "restored"}) : lines{"suspended"});
    EXPECT_EQ(monitor().suspended(), !each.restored);
    EXPECT_EQ(nodes().one_was_deleted(), each.deleted);
  }
}

TEST_F(hold_monitor, an_error_reply_and_a_lost_connection_verify_nothing) {
  struct {
    const char* name;
    std::function<void()> fault;
  } const all[]{
      {"error", [&] { link().replace_reply(opcode::exists, errc::operation_timeout); }},
      {"request lost", [&] { link().drop_request(opcode::exists); }},
      {"reply lost", [&] { link().drop_reply(opcode::exists); }},
  };
  for (const auto& each : all) {
    SCOPED_TRACE(each.name);
    hold();
    disconnect();
    each.fault();
    reconnect();
    work();
    EXPECT_FALSE(link().fault_pending());
    EXPECT_EQ(journal(), lines{"suspended"});
    reconnect();
    EXPECT_TRUE(has_work());
    work_while_needed();
    EXPECT_EQ(journal(), (lines{"suspended", "restored"}));
  }
}

// A short hold costs no read.
TEST_F(hold_monitor, watches_the_nodes_of_a_long_hold) {
  hold({"/a", "/b"});
  world.advance(99ms);
  EXPECT_FALSE(has_work());
  world.advance(1ms);
  EXPECT_TRUE(has_work());
  EXPECT_FALSE(monitor().watches_too_late());
  world.advance(100ms);
  EXPECT_TRUE(monitor().watches_too_late());
  work_while_needed();
  EXPECT_FALSE(monitor().watches_too_late());
  by_hand().remove(nodes()[1].path());
  world.advance(10ms);
  EXPECT_TRUE(nodes().one_was_deleted());
}

TEST_F(hold_monitor, reports_revocations_only_if_asked) {
  for (const bool asked : {false, true}) {
    hold();
    if (asked) inside([&] { monitor().report_revocations(); });
    EXPECT_EQ(has_work(), asked);
    world.advance(200ms);
    work_while_needed();
    by_hand().set(nodes()[0].path(), "__REVOKE__");
    world.advance(10ms);
    EXPECT_TRUE(has_work());
    work();
    EXPECT_EQ(journal(), asked ? lines{"revocation"} : lines{});
  }
}

}  // namespace
}  // namespace conclave::simulated
