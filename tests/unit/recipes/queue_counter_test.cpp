// Counter nodes resolve unknown outcomes of a queue's transactions, as long as the session lives.
#include <gtest/gtest.h>

#include "queue_users.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;

class queue_counters : public testing::Test {
 protected:
  queue_counters() {
    EXPECT_TRUE(w.wait_until_connected());
    w.by_hand().create("/queue");
  }
  static world_options options() {
    world_options o;
    o.connect_wait = 1s;
    return o;
  }
  // A reply is lost, and then there is no connection for longer than connect_wait. The session
  // lives.
  template <class F>
  void lose_reply_of(F&& f, opcode type = opcode::multi) {
    auto& link = w.client(0);
    link.drop_reply(type);
    f();
    ASSERT_TRUE(w.run_until([&] { return !link.fault_pending(); }));
    disconnect_during([] {});
  }
  template <class F>
  void disconnect_during(F&& f) {
    auto& link = w.client(0);
    const auto session = link.session().id;
    link.refuse_connections(true);
    link.disconnect();
    f();
    w.advance(5s);
    link.refuse_connections(false);
    w.advance(60s);
    EXPECT_EQ(link.session().id, session);
  }
  // One after the other, each with its connection.
  bool lose_requests(int n, opcode type = opcode::multi) {
    for (; n > 0; --n) {
      w.client(0).drop_request(type);
      if (!w.run_until([&] { return !w.client(0).fault_pending(); })) return false;
    }
    return true;
  }
  // The lost reply is that to the creation of the counter node.
  test_producer::push_result push_with_lost_creation(test_producer& to) {
    test_producer::push_result result;
    w.by_hand().create("/queue.conclave");
    w.by_hand().create("/queue.conclave/producers");
    lose_reply_of([&] { result = to.push("item"); }, opcode::create2);
    EXPECT_EQ(counter_nodes(), 1u);
    return result;
  }
  // Two large pushes in one transaction, behind a small one that is already executed.
  std::pair<test_producer::push_result, test_producer::push_result> push_two_together(
      test_producer& to) {
    const auto small = to.push("small");
    const auto first = to.push(std::string(10'000, 'x'));
    const auto second = to.push(std::string(10'000, 'x'));
    EXPECT_TRUE(w.run_until([&] { return small->has_value(); }));
    return {first, second};
  }
  std::size_t counter_nodes() { return w.by_hand().children("/queue.conclave/producers").size(); }

  world w{options()};
};

TEST_F(queue_counters, a_lost_reply_does_not_lose_a_popped_item) {
  w.by_hand().create_sequential("/queue/qn-", "item");
  test_consumer who{w.client(0)};
  lose_reply_of([&] { who.acquire(); });
  ASSERT_EQ(who.completions, 1);
  ASSERT_TRUE(who.acquired) << who.ec.message();
  EXPECT_EQ(who.acquired->item.data, "item");
}

TEST_F(queue_counters, a_lost_reply_does_not_fail_a_push) {
  test_producer to{w.client(0)};
  test_producer::push_result pushed;
  lose_reply_of([&] { pushed = to.push("item"); });
  ASSERT_TRUE(*pushed);
  EXPECT_FALSE(**pushed) << (*pushed)->message();
  EXPECT_EQ(w.by_hand().children("/queue").size(), 1u);
}

TEST_F(queue_counters, a_counter_node_is_removed_after_a_reconnect) {
  auto to = std::make_unique<test_producer>(w.client(0));
  const auto pushed = to->push("item");
  w.advance(1s);
  ASSERT_TRUE(*pushed && !**pushed);
  ASSERT_EQ(counter_nodes(), 1u);
  disconnect_during([&] { to.reset(); });
  EXPECT_EQ(counter_nodes(), 0u);
}

TEST_F(queue_counters, a_counter_node_whose_creation_reply_was_lost_is_used) {
  auto to = std::make_unique<test_producer>(w.client(0));
  const auto first = push_with_lost_creation(*to);
  ASSERT_TRUE(*first);
  EXPECT_EQ(**first, errc::not_connected);
  const auto second = to->push("item");
  w.advance(1s);
  EXPECT_TRUE(*second && !**second);
  EXPECT_EQ(counter_nodes(), 1u);
  to.reset();
  w.advance(1s);
  EXPECT_EQ(counter_nodes(), 0u);
}

TEST_F(queue_counters, a_counter_node_whose_creation_reply_was_lost_is_removed) {
  auto to = std::make_unique<test_producer>(w.client(0));
  push_with_lost_creation(*to);
  to.reset();
  w.advance(1s);
  EXPECT_EQ(counter_nodes(), 0u);
}

// The server closes the connection instead of answering.
TEST_F(queue_counters, a_push_larger_than_the_server_accepts_fails_without_effect) {
  test_producer to{w.client(0)};
  const auto large = to.push(std::string(20'000, 'x'));
  ASSERT_TRUE(lose_requests(5)) << "it is sent again: any connection can be lost";
  w.advance(10s);
  ASSERT_TRUE(*large);
  EXPECT_EQ(**large, errc::too_large);
  const auto small = to.push("small");
  w.advance(1s);
  ASSERT_TRUE(*small);
  EXPECT_FALSE(**small) << (*small)->message();
  EXPECT_EQ(w.by_hand().children("/queue").size(), 1u);
}

TEST_F(queue_counters, a_push_that_was_executed_before_the_connections_were_lost_succeeds) {
  test_producer to{w.client(0)};
  w.client(0).drop_reply(opcode::multi);
  const auto pushed = to.push(std::string(20'000, 'x'));
  ASSERT_TRUE(w.run_until([&] { return !w.client(0).fault_pending(); }));
  ASSERT_TRUE(lose_requests(4));
  w.advance(10s);
  ASSERT_TRUE(*pushed);
  EXPECT_FALSE(**pushed) << (*pushed)->message();
  EXPECT_EQ(w.by_hand().children("/queue").size(), 1u);
}

TEST_F(queue_counters, a_push_fails_without_effect_if_the_reply_to_its_withdrawal_is_lost) {
  test_producer to{w.client(0)};
  const auto large = to.push(std::string(20'000, 'x'));
  ASSERT_TRUE(lose_requests(5));
  w.client(0).drop_reply(opcode::set_data);
  w.advance(10s);
  EXPECT_FALSE(w.client(0).fault_pending());
  ASSERT_TRUE(*large);
  EXPECT_EQ(**large, errc::too_large);
  EXPECT_EQ(w.by_hand().children("/queue").size(), 0u);
  const auto small = to.push("small");
  w.advance(1s);
  EXPECT_TRUE(*small && !**small);
}

TEST_F(queue_counters, pushes_that_are_too_large_only_together_are_sent_separately) {
  test_producer to{w.client(0)};
  std::vector<test_producer::push_result> all;
  for (int i = 0; i < 3; ++i) all.push_back(to.push(std::string(10'000, 'x')));
  ASSERT_TRUE(lose_requests(5));
  w.advance(10s);
  for (const auto& pushed : all) {
    ASSERT_TRUE(*pushed);
    EXPECT_FALSE(**pushed) << (*pushed)->message();
  }
  EXPECT_EQ(w.by_hand().children("/queue").size(), 3u);
}

TEST_F(queue_counters, a_push_whose_caller_gave_up_is_not_sent_separately) {
  test_producer to{w.client(0)};
  const auto [first, second] = push_two_together(to);
  ASSERT_TRUE(lose_requests(2));
  to.give_up_last();
  ASSERT_TRUE(lose_requests(3));
  w.advance(10s);
  ASSERT_TRUE(*first && *second);
  EXPECT_FALSE(**first) << (*first)->message();
  EXPECT_EQ(**second, cancelled());
  EXPECT_EQ(w.by_hand().children("/queue").size(), 2u);
}

TEST_F(queue_counters, a_closed_producer_cancels_pushes_that_are_too_large_only_together) {
  auto to = std::make_unique<test_producer>(w.client(0));
  const auto [first, second] = push_two_together(*to);
  ASSERT_TRUE(lose_requests(2));
  to.reset();
  ASSERT_TRUE(lose_requests(3));
  w.advance(10s);
  ASSERT_TRUE(*first && *second);
  EXPECT_EQ(**first, cancelled());
  EXPECT_EQ(**second, cancelled());
  EXPECT_EQ(w.by_hand().children("/queue").size(), 1u);
}

// Only the first of the requests that are lost with a connection can be too large.
TEST_F(queue_counters, a_push_behind_one_that_is_too_large_is_sent_again) {
  test_producer one{w.client(0)};
  test_producer other{w.client(0)};
  for (auto* const to : {&one, &other}) to->push("first");
  w.advance(1s);
  const auto large = one.push(std::string(30'000, 'x'));
  const auto behind = other.push(std::string(20'000, 'x'));
  ASSERT_TRUE(lose_requests(5));
  w.advance(10s);
  ASSERT_TRUE(*large && *behind);
  EXPECT_EQ(**large, errc::too_large);
  EXPECT_FALSE(**behind) << (*behind)->message();
  EXPECT_EQ(w.by_hand().children("/queue").size(), 3u);
}

TEST_F(queue_counters, a_small_push_is_repeated_however_often_connections_are_lost) {
  test_producer to{w.client(0)};
  const auto pushed = to.push("item");
  ASSERT_TRUE(lose_requests(20));
  w.advance(10s);
  ASSERT_TRUE(*pushed);
  EXPECT_FALSE(**pushed) << (*pushed)->message();
  EXPECT_EQ(w.by_hand().children("/queue").size(), 1u);
}

TEST_F(queue_counters, a_push_succeeds_after_its_counter_node_was_deleted_or_written) {
  auto& link = w.client(0);
  auto to = std::make_unique<test_producer>(link);
  const auto push = [&] {
    const auto result = to->push("item");
    w.advance(3s);
    return result;
  };
  const auto node = [&] {
    return "/queue.conclave/producers/" + w.by_hand().children("/queue.conclave/producers")[0];
  };
  EXPECT_FALSE(push()->value());
  w.by_hand().set(node(), "something");
  EXPECT_FALSE(push()->value());
  EXPECT_EQ(counter_nodes(), 1u);
  w.by_hand().remove(node());
  EXPECT_FALSE(push()->value());
  EXPECT_EQ(w.by_hand().children("/queue").size(), 3u);

  // Without a connection the push fails after connect_wait.
  for (const auto next : {opcode::exists, opcode::create2}) {
    SCOPED_TRACE(static_cast<int>(next));
    if (next == opcode::exists)
      w.by_hand().set(node(), "something");
    else
      w.by_hand().remove(node());
    link.drop_request(next);
    link.refuse_connections(true);
    const auto result = push();
    ASSERT_FALSE(link.fault_pending());
    ASSERT_TRUE(result->has_value());
    EXPECT_EQ(result->value(), errc::not_connected);
    link.refuse_connections(false);
    w.advance(3s);
    EXPECT_FALSE(push()->value());
  }
  to.reset();
  w.advance(1s);
  EXPECT_EQ(counter_nodes(), 0u);
}

// A server that times out does not know the outcome of a transaction.
TEST(queue_counter, resolves_a_server_side_timeout) {
  world w{{.clients = 1}};
  ASSERT_TRUE(w.wait_until_connected());
  const auto names = std::make_shared<recipes::queue_names>("/queue", queue_layout::zookeeper);
  const auto p = w.client(0).shared_from_this();
  const auto from = std::make_shared<recipes::consumer>(p, names, recipes::consumer::options{});
  const auto to = std::make_shared<recipes::producer>(p, names, 0, 1 << 20);
  std::vector<std::string> log;
  const auto push = [&](const std::string& item) {
    const auto what = std::make_shared<recipes::producer::push_request>();
    what->items = {item};
    what->priority = default_priority;
    what->complete = [&log](error_code ec) { log.push_back(ec ? "not pushed" : "pushed"); };
    const recipes::session_context::scope inside{*p};
    to->push(what);
  };
  const auto pop = [&] {
    const auto who = std::make_shared<recipes::consumer::caller>();
    who->waits = false;
    who->complete = [&log](error_code, std::optional<recipes::consumer::acquired_item> what) {
      log.push_back(what ? what->item.data : "nothing");
    };
    const recipes::session_context::scope inside{*p};
    from->acquire(who);
  };
  for (const auto open : {errc::operation_timeout, errc::request_timeout}) {
    w.client(0).replace_reply(wire::opcode::multi, open);
    push("item");
    w.advance(1s);
    EXPECT_FALSE(w.client(0).fault_pending());
    w.client(0).replace_reply(wire::opcode::multi, open);
    pop();
    w.advance(1s);
    EXPECT_FALSE(w.client(0).fault_pending());
    pop();
    w.advance(1s);
  }
  EXPECT_EQ(log,
            (std::vector<std::string>{"pushed", "item", "nothing", "pushed", "item", "nothing"}));
  const recipes::session_context::scope inside{*p};
  to->close({ECANCELED, boost::system::system_category()});
  from->close({ECANCELED, boost::system::system_category()});
}

}  // namespace
}  // namespace conclave::simulated
