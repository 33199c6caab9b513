// The cost of an item depends neither on the number of waiting consumers nor on the length of the
// queue.
#include <algorithm>
#include <future>
#include <limits>

#include <boost/asio/use_future.hpp>

#include "queue/fixture.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

constexpr std::int32_t children_opcode = 12;

class no_herd : public one_queue {
 protected:
  link_proxy proxy{shared_server().port()};
};

constexpr std::size_t syncs = 4;

// Replies arrive in order, so all requests and events before a sync are done after it. Repeated,
// since an event may cause further requests. The clients sync at the same time. One after the other
// would take long, and the consumers' periodic checks would be counted too.
void sync_all(const std::vector<std::unique_ptr<client>>& clients) {
  for (std::size_t i = 0; i < syncs; ++i) {
    std::vector<std::future<void>> replies;
    for (auto& each : clients) replies.push_back(each->async_sync("/", boost::asio::use_future));
    for (auto& each : replies) each.get();
  }
}

TEST_F(no_herd, an_item_wakes_one_consumer_however_many_wait) {
  for (const std::size_t count : {3, 100}) {
    // Two or three consumers take part: the first one, which has no caller any more, the one that
    // pops the item, and its successor, which lists the queue. With many consumers, a few of the
    // others may check the queue in the measured time.
    const std::size_t limit = count < 10 ? 24 : count / 2;
    const auto own = fresh_node(zk, "herd");
    inbox<std::string> got;
    context shared;
    std::vector<std::unique_ptr<client>> clients;
    std::vector<std::unique_ptr<queue>> queues;
    for (std::size_t i = 0; i < count; ++i) {
      clients.push_back(
          std::make_unique<client>(shared, proxy.connect_string(), with_timeout(60s)));
      queues.push_back(std::make_unique<queue>(*clients.back(), own));
      queues.back()->async_pop([&](error_code ec, std::optional<queue_item> item) {
        got.put(ec ? ec.message() : item->data);
      });
    }
    // Wait until all of them are in the wait queue.
    while (zk.exists(own + ".conclave/waiting")
               ? zk.children(own + ".conclave/waiting").names.size() < count
               : true)
      sync_all(clients);
    queue from{zk, own};
    from.push("first");  // the next consumer lists the queue before it waits
    ASSERT_EQ(got.take(), "first");
    sync_all(clients);
    // Each consumer checks the queue once in a while, first a few seconds after it began to wait.
    // On a slow machine, these checks can be in the measured time. So the best of several items
    // counts.
    auto least = std::numeric_limits<std::size_t>::max();
    auto least_events = least;
    for (std::size_t i = 0; i < std::min<std::size_t>(count - 1, 8) && least > limit; ++i) {
      proxy.reset_counters();
      from.push("item");
      ASSERT_EQ(got.take(), "item");
      sync_all(clients);
      least = std::min(least, proxy.server_frames() - syncs * clients.size());
      least_events = std::min(least_events, proxy.events());
    }
    EXPECT_LE(least, limit) << count;
    EXPECT_LE(least_events, 6u) << count;
    queues.clear();
  }
}

TEST_F(no_herd, a_long_queue_is_not_listed_for_every_item) {
  constexpr int count = 1000;
  queue from{zk, path};
  for (int i = 0; i < count; i += 100) from.push(numbered(i, i + 100));
  client other{proxy.connect_string()};
  queue q{other, path};
  q.pop();
  proxy.reset_counters();
  for (int i = 1; i < count; ++i) ASSERT_EQ(q.pop().data, std::to_string(i));
  EXPECT_LE(proxy.requests(children_opcode), 8u);
  // For each item: its removal, and a read of a later item.
  EXPECT_LE(proxy.client_frames(), 2u * count + 20);
}

}  // namespace
}  // namespace conclave::testing
