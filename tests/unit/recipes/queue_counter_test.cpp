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
  // A transaction's reply is lost, and then there is no connection for longer than anybody waits
  // for one, but not for as long as the session lives.
  template <class F>
  void lose_reply_of(F&& f) {
    auto& link = w.client(0);
    const auto session = link.session().id;
    link.swallow_reply(opcode::multi);
    f();
    ASSERT_TRUE(w.run_until([&] { return !link.fault_pending(); }));
    link.refuse_connections(true);
    w.advance(5s);
    link.refuse_connections(false);
    w.advance(60s);
    EXPECT_EQ(link.session().id, session);
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

}  // namespace
}  // namespace conclave::simulated
