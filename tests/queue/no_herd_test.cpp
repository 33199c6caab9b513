// The cost of an item depends neither on the number of waiting consumers nor on the length of the
// queue.
#include "queue/fixture.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

constexpr std::int32_t children_opcode = 12;

class no_herd : public one_queue {
 protected:
  link_proxy proxy{shared_server().port()};
};

// Replies arrive in order, so all requests and events before a sync are done after it. Repeated,
// since an event may cause further requests.
void sync_all(const std::vector<std::unique_ptr<client>>& clients) {
  for (int i = 0; i < 4; ++i)
    for (auto& each : clients) each->sync();
}

TEST_F(no_herd, an_item_wakes_one_consumer_however_many_wait) {
  std::vector<std::size_t> frames;
  for (const std::size_t count : {3, 30, 100}) {
    const auto own = fresh_node(zk, "herd");
    inbox<std::string> got;
    std::vector<std::unique_ptr<client>> clients;
    std::vector<std::unique_ptr<queue>> queues;
    for (std::size_t i = 0; i < 10; ++i)
      clients.push_back(std::make_unique<client>(proxy.connect_string(), with_timeout(60s)));
    for (std::size_t i = 0; i < count; ++i) {
      queues.push_back(std::make_unique<queue>(*clients[i % clients.size()], own));
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
    proxy.reset_counters();
    from.push("item");
    ASSERT_EQ(got.take(), "item");
    sync_all(clients);
    const auto syncs = 4 * clients.size();
    frames.push_back(proxy.server_frames() - syncs);
    EXPECT_LE(proxy.events(), 6u) << count;
    queues.clear();
  }
  // Two or three consumers take part: the first one, which has no caller any more, the one that
  // pops the item, and its successor, which lists the queue.
  for (const auto each : frames) EXPECT_LE(each, 24u);
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
