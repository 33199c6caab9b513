// The wait queue of consumers. Its first consumer watches the queue for all of them.
#include <gtest/gtest.h>

#include "queue_users.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;

class queue_wait_queue : public testing::Test {
 protected:
  queue_wait_queue() { EXPECT_TRUE(w.wait_until_connected()); }
  static world_options options() {
    world_options o;
    o.clients = 3;
    o.connect_wait = 1s;
    return o;
  }
  void push(const std::string& item) { w.by_hand().create_sequential("/queue/qn-", item); }
  // Whether the consumer acquires a new item before it would list the queue by itself.
  testing::AssertionResult acquires_at_once(test_consumer& who) {
    const auto before = who.completions;
    const auto pushed = w.now();
    push("item");
    if (!w.run_until([&] { return who.completions > before; })) return testing::AssertionFailure();
    if (w.now() - pushed < 500ms) return testing::AssertionSuccess();
    return testing::AssertionFailure() << (w.now() - pushed).count() / 1'000'000 << " ms";
  }

  world w{options()};
};

TEST_F(queue_wait_queue, a_consumer_that_gives_up_does_not_delay_its_successors) {
  test_consumer a{w.client(0)}, b{w.client(1)}, c{w.client(2)};
  a.acquire();
  w.advance(1s);
  const auto gives_up = b.acquire();
  w.advance(1s);
  c.acquire();
  w.advance(1s);
  b.give_up(gives_up);
  push("for the first");
  w.advance(500ms);
  ASSERT_EQ(a.completions, 1);
  EXPECT_TRUE(acquires_at_once(c));
  c.acquire();
  w.advance(1s);
  EXPECT_TRUE(acquires_at_once(c));
}

// Changes by other programs at any time between the push and the acquisition. Each of them makes
// the first attempt to acquire the item fail, although no child is created or deleted.
class changed_by_hand : public queue_wait_queue {
 protected:
  template <class Change>
  void expect_items_in_spite_of(recipes::consumer::options mode, Change change) {
    for (auto after = 0us; after <= 10ms; after += 250us) {
      test_consumer a{w.client(0), mode};
      a.acquire();
      w.advance(1s);
      push("item");
      w.advance(after);
      change();
      w.advance(500ms);
      EXPECT_EQ(a.completions, 1) << "after " << after.count() << " us";
      if (a.acquired && a.acquired->claim) a.complete();
      w.advance(1s);
    }
  }
  void write_items() {
    for (const auto& name : w.by_hand().children("/queue"))
      w.by_hand().set("/queue/" + name, "changed");
  }
};

TEST_F(changed_by_hand, an_item_is_claimed) {
  expect_items_in_spite_of(test_consumer::claiming(), [&] { write_items(); });
}

TEST_F(changed_by_hand, an_item_is_popped) {
  expect_items_in_spite_of({}, [&] { write_items(); });
}

TEST_F(changed_by_hand, an_item_of_a_written_folder_is_popped) {
  expect_items_in_spite_of({}, [&] { w.by_hand().set("/queue", "changed"); });
}

TEST_F(changed_by_hand, an_item_of_a_folder_without_its_identity_is_popped) {
  w.by_hand().create("/queue");
  expect_items_in_spite_of({}, [&] {
    for (const auto& name : w.by_hand().children("/queue/conclave"))
      w.by_hand().remove("/queue/conclave/" + name);
  });
}

TEST_F(queue_wait_queue, an_item_that_could_not_be_read_is_acquired_by_the_next_call) {
  test_consumer a{w.client(0)};
  a.acquire();
  w.advance(1s);
  auto& link = w.client(0);
  link.drop_request(wire::opcode::get_data);
  push("item");
  ASSERT_TRUE(w.run_until([&] { return !link.fault_pending(); }));
  link.refuse_connections(true);
  w.advance(3s);
  link.refuse_connections(false);
  w.advance(7s);
  ASSERT_EQ(a.completions, 1);
  ASSERT_FALSE(a.acquired);
  a.acquire();
  w.advance(1s);
  ASSERT_EQ(a.completions, 2);
  EXPECT_TRUE(a.acquired);
}

TEST_F(queue_wait_queue, the_first_consumer_leaves_if_it_cannot_watch) {
  test_consumer a{w.client(0)}, b{w.client(1)};
  a.acquire();
  w.advance(1s);
  b.acquire();
  w.advance(1s);
  auto& link = w.client(0);
  link.drop_request(wire::opcode::get_children2);
  w.by_hand().remove(
      w.by_hand().create_sequential("/queue/qn-"));  // the watch fires, and a lists the queue
  ASSERT_TRUE(w.run_until([&] { return !link.fault_pending(); }));
  link.refuse_connections(true);
  w.advance(3s);
  link.refuse_connections(false);
  w.advance(7s);
  EXPECT_EQ(a.completions, 1);
  ASSERT_EQ(b.completions, 0);
  EXPECT_TRUE(acquires_at_once(b));
}

TEST_F(queue_wait_queue, a_consumer_whose_node_was_deleted_enters_again) {
  auto& hand = w.by_hand();
  hand.create("/queue"), hand.create("/queue.conclave"), hand.create("/queue.conclave/waiting");
  const auto predecessor = hand.create_sequential("/queue.conclave/waiting/lock-");
  test_consumer who{w.client(0)};
  who.acquire();
  w.advance(1s);
  for (const auto& name : hand.children("/queue.conclave/waiting"))
    if (const auto node = "/queue.conclave/waiting/" + name; node != predecessor) hand.remove(node);
  w.advance(1s);
  EXPECT_EQ(who.completions, 0) << who.ec.message();
  EXPECT_EQ(hand.children("/queue.conclave/waiting").size(), 2u);
}

TEST_F(queue_wait_queue, a_failed_listing_does_not_discard_the_watch) {
  auto& link = w.client(0);
  {
    test_consumer a{link};
    a.acquire();
    w.advance(1s);
    const auto watches = link.machine().watch_count();
    link.refuse_connections(true);
    link.disconnect();
    a.acquire(false);
    w.advance(5s);
    EXPECT_EQ(a.ec, errc::not_connected);
    EXPECT_EQ(a.completions, 2);
    link.refuse_connections(false);
    w.advance(5s);
    a.acquire();
    w.advance(5s);
    EXPECT_EQ(link.machine().watch_count(), watches);
  }
  w.advance(1s);
  EXPECT_EQ(link.machine().watch_count(), 0u);
}

TEST(queue_session, a_session_that_ends_before_a_removal_is_no_error) {
  world w{{.session_timeout = 10s, .connect_wait = 10min}};
  ASSERT_TRUE(w.wait_until_connected());
  w.by_hand().create("/queue");
  const auto push = [&](const std::string& item) {
    w.by_hand().create_sequential("/queue/qn-", item);
  };
  auto& link = w.client(0);
  test_consumer a{link};
  for (const auto what : {wire::opcode::get_children2, wire::opcode::get_data}) {
    SCOPED_TRACE(static_cast<int>(what));
    const auto session = link.session().id;
    const auto before = a.completions;
    link.drop_request(what);
    a.acquire();
    if (what == wire::opcode::get_data) push("item");
    ASSERT_TRUE(w.run_until([&] { return !link.fault_pending(); }));
    link.pause();  // it learns of the end when it is resumed
    w.advance(5min);
    link.resume();
    w.advance(5s);
    EXPECT_NE(link.session().id, session);
    if (what == wire::opcode::get_children2) push("item");
    w.advance(5s);
    EXPECT_EQ(a.completions, before + 1);
    EXPECT_TRUE(a.acquired) << a.ec.message();
  }
}

}  // namespace
}  // namespace conclave::simulated
