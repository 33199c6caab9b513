// What the counters of a queue's users tell after a lost reply, as long as the session lives.
#include <gtest/gtest.h>

#include "queue_users.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;

class queue_counters : public testing::Test {
 protected:
  queue_counters() {
    EXPECT_TRUE(w.attach_all());
    w.by_hand().create("/queue");
  }
  static world_options options() {
    world_options o;
    o.connect_wait = 1s;
    return o;
  }
  // A reply is lost, and then there is no connection for longer than anybody waits for one, but not
  // for as long as the session lives.
  template <class F>
  void lose_reply_of(F&& f, opcode type = opcode::multi) {
    auto& link = w.client(0);
    link.swallow_reply(type);
    f();
    ASSERT_TRUE(w.run_until([&] { return !link.fault_pending(); }));
    be_alone([] {});
  }
  template <class F>
  void be_alone(F&& f) {
    auto& link = w.client(0);
    const auto session = link.session().id;
    link.refuse_connections(true);
    link.cut();
    f();
    w.advance(5s);
    link.refuse_connections(false);
    w.advance(60s);
    EXPECT_EQ(link.session().id, session);
  }
  // The reply to the creation of its own node is the one that is lost.
  pusher::answer push_unheard(pusher& to) {
    pusher::answer told;
    w.by_hand().create("/queue.conclave");
    w.by_hand().create("/queue.conclave/producers");
    lose_reply_of([&] { told = to.push("item"); }, opcode::create2);
    EXPECT_EQ(nodes_of_producers(), 1u);
    return told;
  }
  std::size_t nodes_of_producers() {
    return w.by_hand().children("/queue.conclave/producers").size();
  }

  world w{options()};
};

TEST_F(queue_counters, a_popped_item_is_not_lost) {
  w.by_hand().create_numbered("/queue/qn-", "item");
  taker who{w.client(0)};
  lose_reply_of([&] { who.take(); });
  ASSERT_EQ(who.told, 1);
  ASSERT_TRUE(who.got) << who.ec.message();
  EXPECT_EQ(who.got->item.data, "item");
}

TEST_F(queue_counters, a_pushed_item_is_known_to_be_there) {
  pusher to{w.client(0)};
  pusher::answer pushed;
  lose_reply_of([&] { pushed = to.push("item"); });
  ASSERT_TRUE(*pushed);
  EXPECT_FALSE(**pushed) << (*pushed)->message();
  EXPECT_EQ(w.by_hand().children("/queue").size(), 1u);
}

TEST_F(queue_counters, a_node_goes_as_soon_as_there_is_a_connection) {
  auto to = std::make_unique<pusher>(w.client(0));
  const auto pushed = to->push("item");
  w.advance(1s);
  ASSERT_TRUE(*pushed && !**pushed);
  ASSERT_EQ(nodes_of_producers(), 1u);
  be_alone([&] { to.reset(); });
  EXPECT_EQ(nodes_of_producers(), 0u);
}

TEST_F(queue_counters, a_node_that_was_made_unheard_is_used) {
  auto to = std::make_unique<pusher>(w.client(0));
  const auto first = push_unheard(*to);
  ASSERT_TRUE(*first);
  EXPECT_EQ(**first, errc::not_connected);
  const auto second = to->push("item");
  w.advance(1s);
  EXPECT_TRUE(*second && !**second);
  EXPECT_EQ(nodes_of_producers(), 1u);
  to.reset();
  w.advance(1s);
  EXPECT_EQ(nodes_of_producers(), 0u);
}

TEST_F(queue_counters, a_node_that_was_made_unheard_is_not_left_behind) {
  auto to = std::make_unique<pusher>(w.client(0));
  push_unheard(*to);
  to.reset();
  w.advance(1s);
  EXPECT_EQ(nodes_of_producers(), 0u);
}

// By hand.
TEST_F(queue_counters, a_node_that_was_deleted_or_written_over_is_no_fault_of_the_push) {
  auto& link = w.client(0);
  auto to = std::make_unique<pusher>(link);
  const auto push = [&] {
    const auto told = to->push("item");
    w.advance(3s);
    return told;
  };
  const auto node = [&] {
    return "/queue.conclave/producers/" + w.by_hand().children("/queue.conclave/producers")[0];
  };
  EXPECT_FALSE(push()->value());
  w.by_hand().set(node(), "something");
  EXPECT_FALSE(push()->value());
  EXPECT_EQ(nodes_of_producers(), 1u);
  w.by_hand().remove(node());
  EXPECT_FALSE(push()->value());
  EXPECT_EQ(w.by_hand().children("/queue").size(), 3u);

  // And without a connection it is told in time.
  for (const auto next : {opcode::exists, opcode::create2}) {
    SCOPED_TRACE(static_cast<int>(next));
    if (next == opcode::exists)
      w.by_hand().set(node(), "something");
    else
      w.by_hand().remove(node());
    link.swallow_request(next);
    link.refuse_connections(true);
    const auto told = push();
    ASSERT_FALSE(link.fault_pending());
    ASSERT_TRUE(told->has_value());
    EXPECT_EQ(told->value(), errc::not_connected);
    link.refuse_connections(false);
    w.advance(3s);
    EXPECT_FALSE(push()->value());
  }
  to.reset();
  w.advance(1s);
  EXPECT_EQ(nodes_of_producers(), 0u);
}

// The server itself may not know what became of a transaction.
TEST(queue_counter, tells_what_an_answer_leaves_open) {
  world w{{.clients = 1}};
  ASSERT_TRUE(w.attach_all());
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
    w.client(0).falsify_reply(wire::opcode::multi, open);
    push("item");
    w.advance(1s);
    EXPECT_FALSE(w.client(0).fault_pending());
    w.client(0).falsify_reply(wire::opcode::multi, open);
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
