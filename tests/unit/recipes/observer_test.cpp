// The changes that an observer reports, and the requests that they cost.
#include "recipes/observer.hpp"

#include <gtest/gtest.h>

#include "simulation/world/world.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;
using lines = std::vector<std::string>;

const std::string election_path = "/services/leader";

class observer : public testing::Test {
 protected:
  observer() {
    EXPECT_TRUE(w.wait_until_connected());
    w.by_hand().create("/services");
  }
  ~observer() override { stop(); }
  static world_options options() {
    world_options o;
    o.session_timeout = 10s;
    o.connect_wait = 10min;
    return o;
  }

  client& link() { return w.client(0); }
  direct_client& by_hand() { return w.by_hand(); }
  void start(const layout& names = layout::election()) { start_on(link(), names); }
  void start_on(client& c, const layout& names = layout::election()) {
    const recipes::session_context::scope inside{c};
    observing = &c;
    watching =
        std::make_shared<recipes::observer>(c.shared_from_this(), election_path, names,
                                            [this](const std::optional<contender_info>& who) {
                                              reported.push_back(who ? who->owner : "none");
                                              if (who) last = *who;
                                            });
    watching->start();
  }
  void stop() {
    if (!watching) return;
    const recipes::session_context::scope inside{*observing};
    watching->stop();
    watching.reset();
  }
  void finish_pending_work() { w.advance(3s); }
  std::string add_candidate(const std::string& id) {
    return by_hand().create_sequential(election_path + "/n_", id);
  }
  // The requests that the observer sends because of `f`.
  template <class F>
  traffic cost(F&& f) {
    finish_pending_work();
    const auto before = link().traffic();
    f();
    finish_pending_work();
    return link().traffic() - before;
  }
  void expire() {
    link().refuse_connections(true);
    link().disconnect();
    w.advance(30s);
    link().refuse_connections(false);
    finish_pending_work();
  }
  void check_end() {
    stop();
    finish_pending_work();
    EXPECT_EQ(link().machine().watch_count(), 0u);
    EXPECT_EQ(link().machine().outstanding(), 0u);
  }

  world w{options()};
  std::shared_ptr<recipes::observer> watching;
  client* observing = nullptr;
  lines reported;
  contender_info last;
};

TEST_F(observer, reports_the_leader_and_then_every_change) {
  by_hand().create(election_path);
  const auto a = add_candidate("a"), b = add_candidate("b"), d = add_candidate("d");
  start();
  finish_pending_work();
  EXPECT_EQ(reported, lines{"a"});
  EXPECT_EQ(last.node, a);
  EXPECT_TRUE(last.holds);
  EXPECT_EQ(last.fencing_token, by_hand().get(a).stat.czxid);
  EXPECT_EQ(last.session_id, by_hand().get(a).stat.ephemeral_owner);
  by_hand().remove(a);
  finish_pending_work();
  by_hand().remove(b);
  finish_pending_work();
  by_hand().remove(d);
  finish_pending_work();
  add_candidate("e");
  finish_pending_work();
  EXPECT_EQ(reported, (lines{"a", "b", "d", "none", "e"}));
  check_end();
}

TEST_F(observer, sends_one_listing_per_change_and_nothing_for_candidates) {
  by_hand().create(election_path);
  const auto a = add_candidate("a");
  start();
  const auto of_candidates = cost([&] {
    const auto x = add_candidate("x");
    add_candidate("y");
    by_hand().remove(x);
  });
  EXPECT_EQ(of_candidates.all(), 0) << to_string(of_candidates);
  EXPECT_EQ(of_candidates.events, 0);
  const auto of_change = cost([&] { by_hand().remove(a); });
  EXPECT_EQ(of_change.all(), 2) << to_string(of_change);
  EXPECT_EQ(of_change.events, 1);
  const auto of_nothing = cost([&] { w.advance(60s); });
  EXPECT_EQ(of_nothing.all(), 0) << to_string(of_nothing);
  EXPECT_EQ(reported, (lines{"a", "y"}));
  check_end();
}

TEST_F(observer, waits_for_a_path_that_does_not_exist) {
  start();
  finish_pending_work();
  EXPECT_EQ(reported, lines{"none"});
  const auto idle = cost([&] { w.advance(60s); });
  EXPECT_EQ(idle.all(), 0) << to_string(idle);
  by_hand().create(election_path);
  finish_pending_work();
  EXPECT_EQ(reported, lines{"none"});
  const auto a = add_candidate("a");
  finish_pending_work();
  EXPECT_EQ(reported, (lines{"none", "a"}));
  by_hand().remove(a);
  by_hand().remove(election_path);
  finish_pending_work();
  EXPECT_EQ(reported, (lines{"none", "a", "none"}));
  by_hand().create(election_path);
  add_candidate("b");
  finish_pending_work();
  EXPECT_EQ(reported.back(), "b");
  check_end();
}

TEST_F(observer, does_not_report_the_same_leader_twice) {
  by_hand().create(election_path);
  const auto a = add_candidate("a");
  start();
  finish_pending_work();
  by_hand().set(a, "a again");
  finish_pending_work();
  by_hand().set(a, "and again");
  finish_pending_work();
  EXPECT_EQ(reported, lines{"a"});
  by_hand().remove(a);
  finish_pending_work();
  EXPECT_EQ(reported, (lines{"a", "none"}));
  check_end();
}

TEST_F(observer, distinguishes_two_candidates_with_the_same_id) {
  by_hand().create(election_path);
  const auto a = add_candidate("host");
  add_candidate("host");
  start();
  finish_pending_work();
  by_hand().remove(a);
  finish_pending_work();
  EXPECT_EQ(reported, (lines{"host", "host"}));
  check_end();
}

TEST_F(observer, orders_by_age_near_the_last_sequence_number) {
  by_hand().create(election_path);
  w.set_counter(election_path, 2'147'483'647);
  add_candidate("older");
  EXPECT_EQ(add_candidate("younger"), election_path + "/n_-2147483648");
  start();
  finish_pending_work();
  EXPECT_EQ(reported, lines{"older"});
  by_hand().remove(last.node);
  finish_pending_work();
  EXPECT_EQ(reported, (lines{"older", "younger"}));
  check_end();
}

TEST_F(observer, ignores_nodes_of_another_layout) {
  by_hand().create(election_path);
  by_hand().create_sequential(election_path + "/latch-", "latch");
  by_hand().create_sequential(election_path + "/x", "a stray node");
  start();
  finish_pending_work();
  EXPECT_EQ(reported, lines{"none"});
  stop();
  reported.clear();
  start(layout::leader_latch());
  finish_pending_work();
  EXPECT_EQ(reported, lines{"latch"});
  check_end();
}

TEST_F(observer, reports_its_leader_although_a_later_node_has_another_layout) {
  by_hand().create(election_path);
  const auto leader = add_candidate("a");
  start();
  finish_pending_work();
  by_hand().create_sequential(election_path + "/lock-", "of another layout");
  by_hand().set(leader, "a");  // the watch fires, and the observer lists the candidates
  finish_pending_work();
  EXPECT_EQ(reported, lines{"a"});
  check_end();
}

TEST_F(observer, continues_after_an_error_reply) {
  by_hand().create(election_path);
  add_candidate("a");
  for (const auto passing :
       {errc::throttled, errc::request_timeout, errc::operation_timeout, errc::system_error}) {
    reported.clear();
    link().replace_reply(opcode::get_children2, passing);
    start();
    finish_pending_work();
    EXPECT_EQ(reported, lines{"a"}) << make_error_code(passing).message();
    stop();
  }
  check_end();
}

TEST_F(observer, continues_after_a_reconnect) {
  by_hand().create(election_path);
  const auto a = add_candidate("a");
  start();
  finish_pending_work();
  link().disconnect();
  finish_pending_work();
  EXPECT_EQ(reported, lines{"a"});
  link().refuse_connections(true);
  link().disconnect();
  w.advance(1s);
  by_hand().remove(a);
  add_candidate("b");
  w.advance(1s);
  EXPECT_EQ(reported, lines{"a"});
  link().refuse_connections(false);
  finish_pending_work();
  EXPECT_EQ(reported, (lines{"a", "b"}));
  check_end();
}

// connect_wait does not apply to observers.
TEST_F(observer, waits_for_a_connection_without_a_time_limit) {
  auto& late = w.add_client();
  late.refuse_connections(true);
  by_hand().create(election_path);
  add_candidate("a");
  start_on(late);
  w.advance(1h);
  EXPECT_EQ(reported, lines{});
  late.refuse_connections(false);
  finish_pending_work();
  EXPECT_EQ(reported, lines{"a"});
  stop();
}

TEST_F(observer, continues_in_a_new_session) {
  by_hand().create(election_path);
  const auto a = add_candidate("a");
  start();
  finish_pending_work();
  expire();
  EXPECT_EQ(reported, lines{"a"});  // the leader has not changed
  by_hand().remove(a);
  finish_pending_work();
  EXPECT_EQ(reported, (lines{"a", "none"}));
  expire();
  add_candidate("b");
  finish_pending_work();
  EXPECT_EQ(reported, (lines{"a", "none", "b"}));
  check_end();
}

TEST_F(observer, stops_when_the_client_is_closed) {
  by_hand().create(election_path);
  add_candidate("a");
  start();
  finish_pending_work();
  link().close();
  finish_pending_work();
  EXPECT_EQ(reported, lines{"a"});
}

TEST_F(observer, leaves_no_watch_when_it_is_stopped) {
  by_hand().create(election_path);
  const auto a = add_candidate("a");
  for (int k = 0; k < 12; ++k) {
    reported.clear();
    start();
    for (int i = 0; i < k; ++i) w.step();
    const auto before = reported.size();
    check_end();
    EXPECT_EQ(reported.size(), before) << k;
  }
  EXPECT_EQ(reported, lines{"a"});
}

class disconnected_observer : public observer,
                              public testing::WithParamInterface<disconnect_style> {};
INSTANTIATE_TEST_SUITE_P(disconnect, disconnected_observer,
                         testing::Values(disconnect_style{false, false},
                                         disconnect_style{false, true},
                                         disconnect_style{true, false},
                                         disconnect_style{true, true}));

// Leaders change while the connection is lost after each frame, in each direction.
TEST_P(disconnected_observer, reports_the_last_leader_after_a_connection_loss_after_any_frame) {
  by_hand().create(election_path);
  int disconnects = 0;
  for (const auto way : {direction::up, direction::down})
    for (std::size_t n = 1;; ++n) {
      SCOPED_TRACE(testing::Message() << "frame " << n << (way == direction::up ? " up" : " down"));
      reported.clear();
      link().disconnect_after_frames(way, n, GetParam());
      start();
      auto leader = add_candidate("first");
      for (const auto* next : {"second", "third"}) {
        w.advance(5ms);
        const auto behind = add_candidate(next);
        by_hand().remove(leader);
        leader = behind;
      }
      w.advance(5ms);
      by_hand().remove(leader);
      finish_pending_work();
      ASSERT_FALSE(reported.empty());
      EXPECT_EQ(reported.back(), "none");
      const auto last_one = add_candidate("last");
      finish_pending_work();
      EXPECT_EQ(reported.back(), "last");
      const bool struck = !link().fault_pending();
      link().forget_fault();
      check_end();
      by_hand().remove(last_one);
      ASSERT_FALSE(HasFailure());
      if (!struck) break;
      ++disconnects;
    }
  EXPECT_GT(disconnects, 12);
}

}  // namespace
}  // namespace conclave::simulated
