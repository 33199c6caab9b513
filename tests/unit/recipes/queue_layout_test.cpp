// Consumers of a queue that other programs use with a different layout.
#include <gtest/gtest.h>

#include "queue_users.hpp"
#include "recipes/queue/front_reader.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;

class queue_layouts : public testing::Test {
 protected:
  queue_layouts() {
    EXPECT_TRUE(w.wait_until_connected());
    hand.create("/queue");
  }
  static recipes::consumer::options options_for(queue_layout l) {
    return l == queue_layout::kazoo_locking ? test_consumer::claiming()
                                            : recipes::consumer::options{};
  }
  // The result of a call that does not wait, followed by the result of front().
  std::vector<error_code> results(queue_layout l) {
    test_consumer who{w.client(0), options_for(l), l};
    who.acquire(false);
    EXPECT_TRUE(w.run_until([&] { return who.completions == 1; }));
    std::optional<error_code> front;
    {
      const recipes::session_context::scope inside{w.client(0)};
      std::make_shared<recipes::front_reader>(
          w.client(0).shared_from_this(), names_of_queue(l),
          [&](error_code ec, const std::optional<queue_item>&) { front = ec; })
          ->start();
    }
    EXPECT_TRUE(w.run_until([&] { return front.has_value(); }));
    return {who.ec, front.value_or(errc::protocol_error)};
  }
  void expect_refused(queue_layout l) {
    const std::vector<error_code> refused(2, errc::layout_mismatch);
    EXPECT_EQ(results(l), refused) << to_string(l);
    test_consumer waits{w.client(0), options_for(l), l};
    waits.acquire();
    EXPECT_TRUE(w.run_until([&] { return waits.completions == 1; }, 10s)) << to_string(l);
    EXPECT_EQ(waits.ec, errc::layout_mismatch);
  }
  void expect_accepted(queue_layout l) {
    EXPECT_EQ(results(l), std::vector<error_code>(2)) << to_string(l);
  }

  world w{{.clients = 1}};
  simulated::direct_client& hand = w.by_hand();
};

TEST_F(queue_layouts, the_items_of_a_locking_queue_are_in_another_node) {
  hand.create("/queue/entries");
  for (const auto l : {queue_layout::zookeeper, queue_layout::kazoo}) expect_refused(l);
  hand.create_sequential("/queue/entries/entry-100-", "item");
  for (const auto l : {queue_layout::zookeeper, queue_layout::kazoo}) expect_refused(l);
  for (int i = 0; i < 2; ++i) hand.create_sequential("/queue/qn-", "item");
  expect_accepted(queue_layout::zookeeper);
}

TEST_F(queue_layouts, a_folder_of_another_program_may_be_called_entries) {
  hand.create("/queue/entries");
  hand.create("/queue/entries/notes");
  for (const auto l : {queue_layout::zookeeper, queue_layout::kazoo}) expect_accepted(l);
  hand.create_sequential("/queue/entries/qn-", "item of another queue");
  for (const auto l : {queue_layout::zookeeper, queue_layout::kazoo}) expect_accepted(l);
}

TEST_F(queue_layouts, a_consumer_of_a_locking_queue_finds_items_at_the_path) {
  expect_accepted(queue_layout::kazoo_locking);
  for (const auto* prefix : {"/queue/qn-", "/queue/entry-100-"}) {
    const auto item = hand.create_sequential(prefix, "item");
    expect_refused(queue_layout::kazoo_locking);
    EXPECT_FALSE(hand.exists("/queue/entries"));
    hand.remove(item);
  }
}

}  // namespace
}  // namespace conclave::simulated
