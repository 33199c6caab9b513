// Consumers that are stopped or give up do not harm the others.
#include <gtest/gtest.h>

#include "queue_users.hpp"
#include "recipes/queue/consumer.hpp"
#include "simulation/world/world.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using recipes::consumer;
using scope = recipes::session_context::scope;

// The first consumer of the wait queue watches for all of them. Its process may be stopped while
// its session lives.
TEST(queue_waiting, a_stopped_consumer_delays_others_only_for_a_limited_time) {
  world w{{.clients = 3}};
  ASSERT_TRUE(w.wait_until_connected());
  const auto names = std::make_shared<recipes::queue_names>("/queue", queue_layout::zookeeper);
  std::vector<std::shared_ptr<consumer>> consumers;
  std::vector<std::string> got(2);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto p = w.client(i).shared_from_this();
    consumers.push_back(std::make_shared<consumer>(p, names, consumer::options{}));
    const auto who = std::make_shared<consumer::caller>();
    who->complete = [&got, i](error_code, std::optional<consumer::acquired_item> what) {
      if (what) got[i] = what->item.data;
    };
    {
      const scope inside{*p};
      consumers[i]->acquire(who);
    }
    w.advance(1s);  // so that they enter the wait queue in this order
  }
  w.client(0).pause();
  w.by_hand().create_sequential("/queue/qn-", "item");
  w.advance(10s);
  EXPECT_EQ(got[1], "item");
  w.client(0).resume();
  w.advance(1s);
  EXPECT_EQ(got[0], "");
  for (std::size_t i = 0; i < 2; ++i) {
    const scope inside{w.client(i)};
    consumers[i]->close({ECANCELED, boost::system::system_category()});
  }
  w.advance(1s);
}

// A program may watch the queue, too, and remove all its watches without naming them.
TEST(queue_waiting, a_consumer_keeps_its_watch_if_the_program_removes_all_watches) {
  for (const auto& options : {consumer::options{}, test_consumer::claiming()}) {
    world w{{.clients = 1}};
    ASSERT_TRUE(w.wait_until_connected());
    test_consumer c{w.client(0), options};
    c.acquire();
    w.advance(1s);
    for (const auto* path : {"/queue", "/queue.conclave/taken"}) {
      error_code ec;
      EXPECT_FALSE(w.client(0).machine().forget_watch(watch_kind::any, path, {}, ec));
      EXPECT_EQ(ec, errc::no_watcher);
    }
    w.by_hand().create_sequential("/queue/qn-", "item");
    w.advance(1s);
    EXPECT_EQ(c.completions, 1);
  }
}

// The first consumer acquires one of two items and leaves the wait queue. The next one is stopped.
TEST(queue_waiting, a_stopped_consumer_that_becomes_the_first_does_not_keep_an_item) {
  world w{{.clients = 4}};
  ASSERT_TRUE(w.wait_until_connected());
  std::vector<std::unique_ptr<test_consumer>> consumers;
  for (std::size_t i = 0; i < 4; ++i) {
    consumers.push_back(std::make_unique<test_consumer>(w.client(i)));
    consumers.back()->acquire();
    w.advance(1s);  // so that they enter the wait queue in this order
  }
  w.client(1).pause();
  for (const auto* item : {"a", "b"}) w.by_hand().create_sequential("/queue/qn-", item);
  w.advance(1s);
  EXPECT_EQ(consumers[0]->completions, 1);
  w.advance(60s);
  EXPECT_EQ(consumers[2]->completions + consumers[3]->completions, 1);
  w.client(1).resume();
  w.advance(1s);
  EXPECT_EQ(consumers[1]->completions, 0);
  consumers.clear();
  w.advance(1s);
}

// Two queue objects share a consumer. One of them is destroyed while the consumer tries to acquire
// an item for it, which another client removes first.
TEST(queue_waiting, a_call_of_a_removed_user_completes_if_its_item_is_not_acquired) {
  for (const auto mode : {consumer::mode::pop, consumer::mode::claim}) {
    world w{{.clients = 1}};
    ASSERT_TRUE(w.wait_until_connected());
    auto& link = w.client(0);
    w.by_hand().create("/queue");
    w.by_hand().create_sequential("/queue/qn-", "item");
    const auto names = std::make_shared<recipes::queue_names>("/queue", queue_layout::zookeeper);
    const auto shared = std::make_shared<consumer>(link.shared_from_this(), names,
                                                   consumer::options{mode, 0, "owner"});
    std::shared_ptr<recipes::queue_user> users[2];
    std::optional<error_code> results[2];
    bool acquired[2] = {};
    const auto acquire = [&](int i) {
      const auto who = std::make_shared<consumer::caller>();
      who->user = users[i];
      who->complete = [&, i](error_code ec, std::optional<consumer::acquired_item> what) {
        results[i] = ec;
        acquired[i] = what.has_value();
      };
      shared->acquire(who);
    };
    const auto sent = link.traffic().of(wire::opcode::multi);
    {
      const scope inside{link};
      for (auto& u : users) u = shared->add_user();
      acquire(0);
    }
    ASSERT_TRUE(w.run_until([&] { return link.traffic().of(wire::opcode::multi) > sent; }));
    w.by_hand().remove("/queue/qn-0000000000");
    {
      const scope inside{link};
      shared->remove_user(users[0], {ECANCELED, boost::system::system_category()});
    }
    w.advance(1s);
    ASSERT_TRUE(results[0]);
    EXPECT_EQ(results[0]->value(), ECANCELED);
    {
      const scope inside{link};
      acquire(1);
    }
    w.advance(1s);
    w.by_hand().create_sequential("/queue/qn-", "another");
    w.advance(1s);
    EXPECT_TRUE(acquired[1]);
    {
      const scope inside{link};
      shared->remove_user(users[1], {ECANCELED, boost::system::system_category()});
    }
    w.advance(1s);
  }
}

// Both consumers try to claim the only item. The one that fails would wait for the next item.
TEST(queue_waiting, a_caller_that_gives_up_during_a_claim_completes) {
  world w{{.clients = 2}};
  ASSERT_TRUE(w.wait_until_connected());
  const auto names = std::make_shared<recipes::queue_names>("/queue", queue_layout::zookeeper);
  w.by_hand().create("/queue");
  w.by_hand().create_sequential("/queue/qn-", "item");
  std::vector<std::shared_ptr<consumer>> consumers;
  std::vector<consumer::caller_ptr> callers;
  int completed = 0, acquired = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto p = w.client(i).shared_from_this();
    consumers.push_back(
        std::make_shared<consumer>(p, names, consumer::options{consumer::mode::claim, 0, "user"}));
    callers.push_back(std::make_shared<consumer::caller>());
    callers[i]->complete = [&](error_code, std::optional<consumer::acquired_item> what) {
      ++completed;
      acquired += what.has_value();
    };
    const scope inside{*p};
    consumers[i]->acquire(callers[i]);
  }
  const auto claims = [&](std::size_t i) {
    return w.client(i).traffic().of(wire::opcode::multi) > 0;
  };
  ASSERT_TRUE(w.run_until([&] { return claims(0) && claims(1); }));
  for (std::size_t i = 0; i < 2; ++i) {
    const scope inside{w.client(i)};
    consumers[i]->give_up(callers[i], {});
  }
  EXPECT_EQ(completed, 0) << "the claim was already decided";
  w.advance(3s);
  EXPECT_EQ(completed, 2);
  EXPECT_EQ(acquired, 1);
  for (std::size_t i = 0; i < 2; ++i) {
    const scope inside{w.client(i)};
    consumers[i]->close({ECANCELED, boost::system::system_category()});
  }
  w.advance(1s);
}

}  // namespace
}  // namespace conclave::simulated
