// Consumers that are stopped or give up do not harm the others.
#include <gtest/gtest.h>

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
  ASSERT_TRUE(w.attach_all());
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
  w.by_hand().create_numbered("/queue/qn-", "item");
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

// Both consumers try to claim the only item. The one that fails would wait for the next item.
TEST(queue_waiting, a_caller_that_gives_up_during_a_claim_completes) {
  world w{{.clients = 2}};
  ASSERT_TRUE(w.attach_all());
  const auto names = std::make_shared<recipes::queue_names>("/queue", queue_layout::zookeeper);
  w.by_hand().create("/queue");
  w.by_hand().create_numbered("/queue/qn-", "item");
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
