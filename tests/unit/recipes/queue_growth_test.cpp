// The cost of many consumers and of long queues, in requests and bytes.
#include <gtest/gtest.h>

#include "queue_users.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;

struct cost {
  int requests = 0;
  int listings = 0;
  std::size_t bytes = 0;
};

class many_consumers {
 public:
  explicit many_consumers(std::size_t n, recipes::consumer::options o = {}) : world{options(n)} {
    EXPECT_TRUE(world.wait_until_connected());
    auto& hand = world.by_hand();
    hand.create("/queue", "persistent queue of Conclave");
    hand.create("/queue.conclave"), hand.create("/queue.conclave/taken");
    for (std::size_t i = 0; i < n; ++i)
      consumers.push_back(std::make_unique<test_consumer>(world.client(i), o));
  }
  void push(std::size_t items) {
    for (; items > 0; --items) world.by_hand().create_sequential("/queue/qn-", "item");
  }
  void acquire_all() {
    for (const auto& each : consumers) each->acquire();
  }
  bool all_have_completed(int calls) {
    return world.run_until([&] {
      for (const auto& each : consumers)
        if (each->completions < calls) return false;
      return true;
    });
  }
  // The cost of all consumers since the last call.
  cost cost_since_last_call() {
    cost now;
    for (std::size_t i = 0; i < consumers.size(); ++i) {
      const auto& t = world.client(i).traffic();
      now.requests += t.all();
      now.listings += t.of(opcode::get_children) + t.of(opcode::get_children2);
      now.bytes += t.bytes_up + t.bytes_down;
    }
    const auto before = std::exchange(last_, now);
    return {now.requests - before.requests, now.listings - before.listings,
            now.bytes - before.bytes};
  }

  simulated::world world;
  std::vector<std::unique_ptr<test_consumer>> consumers;

 private:
  static world_options options(std::size_t n) {
    world_options o;
    o.clients = n;
    return o;
  }
  cost last_;
};

// All consumers have acquired an item before, so each of them has a counter node.
cost cost_of_waiting(std::size_t n, recipes::consumer::options o = {}) {
  many_consumers all{n, o};
  all.push(n);
  all.acquire_all();
  EXPECT_TRUE(all.all_have_completed(1));
  all.acquire_all();
  all.world.advance(2min);
  all.cost_since_last_call();
  all.world.advance(10min);
  return all.cost_since_last_call();
}

TEST(queue_growth, waiting_consumers_cost_the_same_each) {
  const auto few = cost_of_waiting(50), many = cost_of_waiting(200);
  EXPECT_EQ(many.listings, 0);
  EXPECT_LE(many.bytes, few.bytes * 4 * 5 / 4);
  EXPECT_LE(many.bytes / 200 / 600, 20u) << "bytes per second and consumer";
}

TEST(queue_growth, waiting_consumers_that_claim_do_not_list_claimed_items) {
  const auto few = cost_of_waiting(50, test_consumer::claiming()),
             many = cost_of_waiting(200, test_consumer::claiming());
  EXPECT_EQ(many.listings, 0);
  EXPECT_LE(many.bytes, few.bytes * 4 * 5 / 4);
}

// All of them try to acquire the first item.
TEST(queue_growth, consumers_that_start_together_list_the_queue_about_once) {
  for (const auto& o : {recipes::consumer::options{}, test_consumer::claiming()}) {
    many_consumers all{200, o};
    all.push(200);
    all.cost_since_last_call();
    const auto started = all.world.now();
    all.acquire_all();
    ASSERT_TRUE(all.all_have_completed(1));
    EXPECT_LT(all.world.now() - started, 1s);
    for (const auto& each : all.consumers) EXPECT_TRUE(each->acquired) << each->ec.message();
    const auto spent = all.cost_since_last_call();
    const int lists_of_claims = o.mode == recipes::consumer::mode::claim ? 2 : 1;
    EXPECT_LE(spent.listings, 200 * 2 * lists_of_claims);
    EXPECT_LE(spent.requests, 200 * 30);
  }
}

TEST(queue_growth, a_consumer_alone_lists_a_long_queue_once) {
  constexpr int count = 3000;
  many_consumers one{1};
  one.push(count);
  for (int i = 0; i < count; ++i) one.consumers[0]->acquire();
  ASSERT_TRUE(one.all_have_completed(count));
  EXPECT_LE(one.cost_since_last_call().listings, 2);
  EXPECT_EQ(one.world.by_hand().children("/queue").size(), 0u);
}

// The others have divided the items without the new consumer, and acquire items faster than it
// lists the queue. So it must leave out items to get ahead of them.
TEST(queue_growth, a_consumer_that_joins_busy_ones_gets_an_item_soon) {
  for (const auto& o : {recipes::consumer::options{}, test_consumer::claiming()}) {
    constexpr std::size_t busy = 20;
    many_consumers all{busy + 1, o};
    all.push(5000);
    std::vector<int> calls(busy + 1);
    const auto completed = [&](std::size_t i) { return all.consumers[i]->completions == calls[i]; };
    const auto acquire_next = [&](std::size_t i) {
      auto& c = *all.consumers[i];
      if (c.acquired && c.acquired->claim) c.complete();
      ++calls[i];
      c.acquire();
    };
    // The first consumers acquire one item after the other.
    const auto run_with = [&](std::size_t consumers, const std::function<bool()>& done) {
      return all.world.run_until([&] {
        for (std::size_t i = 0; i < consumers; ++i)
          if (completed(i)) acquire_next(i);
        return done();
      });
    };
    const auto by_first = [&] { return all.consumers[0]->completions; };
    ASSERT_TRUE(run_with(busy, [&] { return by_first() == 20; }));
    acquire_next(busy);
    ASSERT_TRUE(run_with(busy, [&] { return completed(busy); }));
    EXPECT_LE(by_first(), 20 + 25);
    ASSERT_TRUE(all.world.run_until([&] {
      for (std::size_t i = 0; i <= busy; ++i)
        if (!completed(i)) return false;
      return true;
    }));
  }
}

// The other consumers check in turn whether the first one misses items.
TEST(queue_growth, many_consumers_notice_a_stopped_one_soon) {
  many_consumers all{50};
  for (const auto& each : all.consumers) {
    each->acquire();
    all.world.advance(100ms);  // they enter the wait queue in this order
  }
  all.world.advance(5min);
  // The second consumer becomes the first one. Then it is stopped.
  all.push(1);
  ASSERT_TRUE(all.world.run_until([&] { return all.consumers[0]->completions > 0; }));
  all.world.advance(2s);
  all.world.client(1).pause();
  all.push(1);
  const auto acquired = [&] {
    for (std::size_t i = 1; i < all.consumers.size(); ++i)
      if (all.consumers[i]->completions > 0) return true;
    return false;
  };
  const auto pushed = all.world.now();
  ASSERT_TRUE(all.world.run_until(acquired));
  EXPECT_LT(all.world.now() - pushed, 20s);
  EXPECT_EQ(all.consumers[1]->completions, 0);
  all.world.client(1).resume();
  all.world.advance(1s);
}

}  // namespace
}  // namespace conclave::simulated
