// Connections that are lost after every frame. While the sessions live, each pushed item is
// delivered once.
#include "integration/healed_link.hpp"
#include "queue/fixture.hpp"

namespace conclave::testing {
namespace {

class lost_frames : public one_queue {
 protected:
  template <class Use>
  void with_every_disconnect(Use use) {
    using afterwards = link_proxy::afterwards;
    for (const auto what : {afterwards::accept_new_links, afterwards::refuse_until_heal}) {
      at_every_frame(
          proxy, 7, [&](std::size_t n) { proxy.disconnect_after_client_frames(n, what); }, use);
      at_every_frame(
          proxy, 7, [&](std::size_t n) { proxy.disconnect_after_server_frames(n, what); }, use);
      if (HasFatalFailure()) return;
    }
  }

  link_proxy proxy{shared_server().port()};
  client first{proxy.connect_string(), healed_at_once(proxy)};
  client second{proxy.connect_string(), healed_at_once(proxy)};
};

TEST_F(lost_frames, pushes_and_pops_neither_lose_nor_duplicate_items) {
  with_every_disconnect([&] {
    queue to{first, path};
    queue from{second, path};
    to.push("0");
    to.push(numbered(1, 4));
    std::vector<std::string> got;
    for (int i = 0; i < 4; ++i) got.push_back(from.pop().data);
    ASSERT_EQ(got, numbered(0, 4));
    ASSERT_EQ(queue(zk, path).names().size(), 0u);
  });
}

TEST_F(lost_frames, a_waiting_consumer_gets_new_items) {
  with_every_disconnect([&] {
    queue to{first, path};
    queue from{second, path};
    inbox<std::string> got;
    for (int i = 0; i < 2; ++i)
      from.async_pop([&](error_code ec, std::optional<queue_item> item) {
        got.put(ec ? ec.message() : item->data);
      });
    to.push("0");
    ASSERT_EQ(got.take(), "0");
    to.push("1");
    ASSERT_EQ(got.take(), "1");
    ASSERT_EQ(queue(zk, path).names().size(), 0u);
  });
}

TEST_F(lost_frames, a_claim_is_completed_once_and_leaves_no_node) {
  with_every_disconnect([&] {
    queue to{first, path};
    queue from{second, path};
    to.push(numbered(0, 2));
    auto job = from.claim();
    ASSERT_EQ(job.data(), "0");
    job.complete();
    auto next = from.claim();
    ASSERT_EQ(next.data(), "1");
    ASSERT_EQ(next.attempts(), 1) << "counted twice";
    next.release();
    auto again = from.claim();
    ASSERT_EQ(again.attempts(), 2);
    again.complete();
    ASSERT_EQ(queue(zk, path).names().size(), 0u);
    ASSERT_EQ(zk.children(path + ".conclave/taken").names.size(), 0u);
  });
}

TEST_F(lost_frames, a_waiting_push_continues_when_there_is_capacity) {
  queue_options o;
  o.capacity = 1;
  with_every_disconnect([&] {
    queue to{first, path, o};
    queue from{second, path};
    inbox<bool> pushed;
    for (const auto& each : numbered(0, 3))
      to.async_push({each}, default_priority,
                    [&](error_code ec, bool in) { pushed.put(!ec && in); });
    for (const auto& each : numbered(0, 3)) ASSERT_EQ(from.pop().data, each);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(*pushed.take());
  });
}

TEST_F(lost_frames, random_faults_neither_lose_nor_duplicate_items) {
  constexpr int count = 3000;
  queue to{first, path};
  queue from{second, path};
  inbox<error_code> pushed;
  inbox<std::string> got;
  for (const auto& each : numbered(0, count))
    to.async_push({each}, default_priority, [&](error_code ec, bool) { pushed.put(ec); });
  for (int i = 0; i < count; ++i)
    from.async_pop([&](error_code ec, std::optional<queue_item> item) {
      got.put(ec ? ec.message() : item->data);
    });
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) {
    if (i % 50 == 0) proxy.drop_links();
    all.push_back(*got.take());
  }
  for (int i = 0; i < count; ++i) EXPECT_FALSE(*pushed.take());
  EXPECT_EQ(sorted(all), sorted(numbered(0, count)));
}

}  // namespace
}  // namespace conclave::testing
