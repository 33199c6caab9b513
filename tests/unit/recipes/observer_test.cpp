// Who leads, as an observer is told: every change, and at what cost.
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
    EXPECT_TRUE(w.attach_all());
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
  hand& by_hand() { return w.by_hand(); }
  void start(const layout& names = layout::election()) { start_on(link(), names); }
  void start_on(client& c, const layout& names = layout::election()) {
    const recipes::session_context::scope inside{c};
    observing = &c;
    watching =
        std::make_shared<recipes::observer>(c.shared_from_this(), election_path, names,
                                            [this](const std::optional<contender_info>& who) {
                                              told.push_back(who ? who->owner : "nobody");
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
  void quieten() { w.advance(3s); }
  std::string stand(const std::string& id) {
    return by_hand().create_numbered(election_path + "/n_", id);
  }
  // The cost of what it does.
  template <class F>
  traffic cost(F&& f) {
    quieten();
    const auto before = link().traffic();
    f();
    quieten();
    return link().traffic() - before;
  }
  void expire() {
    link().refuse_connections(true);
    link().cut();
    w.advance(30s);
    link().refuse_connections(false);
    quieten();
  }
  void check_end() {
    stop();
    quieten();
    EXPECT_EQ(link().machine().watch_count(), 0u);
    EXPECT_EQ(link().machine().outstanding(), 0u);
  }

  world w{options()};
  std::shared_ptr<recipes::observer> watching;
  client* observing = nullptr;
  lines told;
  contender_info last;
};

TEST_F(observer, is_told_who_leads_and_then_at_every_change) {
  by_hand().create(election_path);
  const auto a = stand("a"), b = stand("b"), d = stand("d");
  start();
  quieten();
  EXPECT_EQ(told, lines{"a"});
  EXPECT_EQ(last.node, a);
  EXPECT_TRUE(last.holds);
  EXPECT_EQ(last.fencing_token, by_hand().get(a).stat.czxid);
  EXPECT_EQ(last.session_id, by_hand().get(a).stat.ephemeral_owner);
  by_hand().remove(a);
  quieten();
  by_hand().remove(b);
  quieten();
  by_hand().remove(d);
  quieten();
  stand("e");
  quieten();
  EXPECT_EQ(told, (lines{"a", "b", "d", "nobody", "e"}));
  check_end();
}

TEST_F(observer, pays_one_look_for_a_change_and_nothing_for_candidates) {
  by_hand().create(election_path);
  const auto a = stand("a");
  start();
  const auto of_candidates = cost([&] {
    const auto x = stand("x");
    stand("y");
    by_hand().remove(x);
  });
  EXPECT_EQ(of_candidates.all(), 0) << to_string(of_candidates);
  EXPECT_EQ(of_candidates.events, 0);
  const auto of_change = cost([&] { by_hand().remove(a); });
  EXPECT_EQ(of_change.all(), 2) << to_string(of_change);
  EXPECT_EQ(of_change.events, 1);
  const auto of_nothing = cost([&] { w.advance(60s); });
  EXPECT_EQ(of_nothing.all(), 0) << to_string(of_nothing);
  EXPECT_EQ(told, (lines{"a", "y"}));
  check_end();
}

TEST_F(observer, waits_for_a_path_that_is_not_there) {
  start();
  quieten();
  EXPECT_EQ(told, lines{"nobody"});
  const auto idle = cost([&] { w.advance(60s); });
  EXPECT_EQ(idle.all(), 0) << to_string(idle);
  by_hand().create(election_path);
  quieten();
  EXPECT_EQ(told, lines{"nobody"});
  const auto a = stand("a");
  quieten();
  EXPECT_EQ(told, (lines{"nobody", "a"}));
  by_hand().remove(a);
  by_hand().remove(election_path);
  quieten();
  EXPECT_EQ(told, (lines{"nobody", "a", "nobody"}));
  by_hand().create(election_path);
  stand("b");
  quieten();
  EXPECT_EQ(told.back(), "b");
  check_end();
}

TEST_F(observer, is_not_told_the_same_leader_twice) {
  by_hand().create(election_path);
  const auto a = stand("a");
  start();
  quieten();
  by_hand().set(a, "a again");
  quieten();
  by_hand().set(a, "and again");
  quieten();
  EXPECT_EQ(told, lines{"a"});
  by_hand().remove(a);
  quieten();
  EXPECT_EQ(told, (lines{"a", "nobody"}));
  check_end();
}

TEST_F(observer, tells_two_with_one_id_apart) {
  by_hand().create(election_path);
  const auto a = stand("host");
  stand("host");
  start();
  quieten();
  by_hand().remove(a);
  quieten();
  EXPECT_EQ(told, (lines{"host", "host"}));
  check_end();
}

TEST_F(observer, orders_by_age_near_the_end_of_the_numbers) {
  by_hand().create(election_path);
  w.set_counter(election_path, 2'147'483'647);
  stand("older");
  EXPECT_EQ(stand("younger"), election_path + "/n_-2147483648");
  start();
  quieten();
  EXPECT_EQ(told, lines{"older"});
  by_hand().remove(last.node);
  quieten();
  EXPECT_EQ(told, (lines{"older", "younger"}));
  check_end();
}

TEST_F(observer, does_not_see_nodes_of_another_layout) {
  by_hand().create(election_path);
  by_hand().create_numbered(election_path + "/latch-", "latch");
  by_hand().create_numbered(election_path + "/x", "a stray node");
  start();
  quieten();
  EXPECT_EQ(told, lines{"nobody"});
  stop();
  told.clear();
  start(layout::leader_latch());
  quieten();
  EXPECT_EQ(told, lines{"latch"});
  check_end();
}

TEST_F(observer, sees_its_leader_whoever_of_another_layout_stands_behind) {
  by_hand().create(election_path);
  const auto leader = stand("a");
  start();
  quieten();
  by_hand().create_numbered(election_path + "/lock-", "of another layout");
  by_hand().set(leader, "a");  // the watch fires, and it looks
  quieten();
  EXPECT_EQ(told, lines{"a"});
  check_end();
}

TEST_F(observer, is_not_deaf_after_an_answer_that_says_nothing) {
  by_hand().create(election_path);
  stand("a");
  for (const auto passing :
       {errc::throttled, errc::request_timeout, errc::operation_timeout, errc::system_error}) {
    told.clear();
    link().falsify_reply(opcode::get_children2, passing);
    start();
    quieten();
    EXPECT_EQ(told, lines{"a"}) << make_error_code(passing).message();
    stop();
  }
  check_end();
}

TEST_F(observer, keeps_watching_over_a_lost_connection) {
  by_hand().create(election_path);
  const auto a = stand("a");
  start();
  quieten();
  link().cut();
  quieten();
  EXPECT_EQ(told, lines{"a"});
  link().refuse_connections(true);
  link().cut();
  w.advance(1s);
  by_hand().remove(a);
  stand("b");
  w.advance(1s);
  EXPECT_EQ(told, lines{"a"});
  link().refuse_connections(false);
  quieten();
  EXPECT_EQ(told, (lines{"a", "b"}));
  check_end();
}

// Nobody waits for ever for a connection, but an observer has nothing better to do.
TEST_F(observer, looks_when_there_is_a_connection_however_long_that_takes) {
  auto& late = w.add_client();
  late.refuse_connections(true);
  by_hand().create(election_path);
  stand("a");
  start_on(late);
  w.advance(1h);
  EXPECT_EQ(told, lines{});
  late.refuse_connections(false);
  quieten();
  EXPECT_EQ(told, lines{"a"});
  stop();
}

TEST_F(observer, begins_again_in_a_new_session) {
  by_hand().create(election_path);
  const auto a = stand("a");
  start();
  quieten();
  expire();
  EXPECT_EQ(told, lines{"a"});  // it still leads
  by_hand().remove(a);
  quieten();
  EXPECT_EQ(told, (lines{"a", "nobody"}));
  expire();
  stand("b");
  quieten();
  EXPECT_EQ(told, (lines{"a", "nobody", "b"}));
  check_end();
}

TEST_F(observer, ends_with_its_client) {
  by_hand().create(election_path);
  stand("a");
  start();
  quieten();
  link().close();
  quieten();
  EXPECT_EQ(told, lines{"a"});
}

TEST_F(observer, stopped_at_any_moment_leaves_no_watch) {
  by_hand().create(election_path);
  const auto a = stand("a");
  for (int k = 0; k < 12; ++k) {
    told.clear();
    start();
    for (int i = 0; i < k; ++i) w.step();
    const auto before = told.size();
    check_end();
    EXPECT_EQ(told.size(), before) << k;
  }
  EXPECT_EQ(told, lines{"a"});
}

class cut_observer : public observer, public testing::WithParamInterface<cut_style> {};
INSTANTIATE_TEST_SUITE_P(cut, cut_observer,
                         testing::Values(cut_style{false, false}, cut_style{false, true},
                                         cut_style{true, false}, cut_style{true, true}));

// Leaders come and go while the link is cut behind each frame, in each direction.
TEST_P(cut_observer, knows_the_last_leader_wherever_the_link_is_cut) {
  by_hand().create(election_path);
  int cuts = 0;
  for (const auto way : {direction::up, direction::down})
    for (std::size_t n = 1;; ++n) {
      SCOPED_TRACE(testing::Message() << "frame " << n << (way == direction::up ? " up" : " down"));
      told.clear();
      link().cut_after_frames(way, n, GetParam());
      start();
      auto leader = stand("first");
      for (const auto* next : {"second", "third"}) {
        w.advance(5ms);
        const auto behind = stand(next);
        by_hand().remove(leader);
        leader = behind;
      }
      w.advance(5ms);
      by_hand().remove(leader);
      quieten();
      ASSERT_FALSE(told.empty());
      EXPECT_EQ(told.back(), "nobody");
      const auto last_one = stand("last");
      quieten();
      EXPECT_EQ(told.back(), "last");
      const bool struck = !link().fault_pending();
      link().forget_fault();
      check_end();
      by_hand().remove(last_one);
      ASSERT_FALSE(HasFailure());
      if (!struck) break;
      ++cuts;
    }
  EXPECT_GT(cuts, 12);
}

}  // namespace
}  // namespace conclave::simulated
