// Claiming, completing and releasing items.
#include <boost/asio/use_future.hpp>

#include "queue/fixture.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

class claiming : public one_queue, public ::testing::WithParamInterface<queue_layout> {
 protected:
  queue_options options(int max_attempts = 0) const {
    queue_options o;
    o.layout = GetParam();
    o.max_attempts = max_attempts;
    return o;
  }
};
INSTANTIATE_TEST_SUITE_P(of, claiming,
                         ::testing::Values(queue_layout::zookeeper, queue_layout::kazoo_locking),
                         [](const auto& tested) {
                           return tested.param == queue_layout::zookeeper ? "zookeeper" : "kazoo";
                         });

TEST_P(claiming, an_item_stays_until_it_is_completed) {
  queue q{zk, path, options()};
  q.push("job");
  auto job = q.claim();
  EXPECT_EQ(job.data(), "job");
  EXPECT_EQ(job.attempts(), 1);
  EXPECT_TRUE(job.held());
  EXPECT_GT(job.hold().fencing_token(), 0);
  EXPECT_EQ(q.size(), 1u);
  EXPECT_FALSE(q.try_claim()) << "it is claimed already";
  job.complete();
  EXPECT_FALSE(job.held());
  EXPECT_EQ(q.size(), 0u);
  EXPECT_FALSE(q.try_claim());
  EXPECT_EQ(code_of([&] { job.complete(); }), errc::lock_lost) << "only once";
}

TEST_P(claiming, a_released_item_keeps_its_position_and_counts_the_attempt) {
  queue q{zk, path, options()};
  q.push(numbered(0, 2));
  auto job = q.claim();
  EXPECT_EQ(job.data(), "0");
  job.release();
  EXPECT_EQ(code_of([&] { job.complete(); }), errc::lock_lost);
  auto again = q.claim();
  EXPECT_EQ(again.data(), "0");
  EXPECT_EQ(again.attempts(), 2);
}

TEST_P(claiming, destroying_a_claim_releases_the_item) {
  queue q{zk, path, options()};
  q.push("job");
  { const auto job = q.claim(); }
  auto again = q.claim();
  EXPECT_EQ(again.attempts(), 2);
  again = queue_claim{};
  EXPECT_EQ(q.claim().attempts(), 3);
}

TEST_P(claiming, a_waiting_consumer_gets_a_released_item) {
  queue q{zk, path, options()};
  q.push("job");
  auto job = q.claim();
  client other{shared_server().connect_string()};
  queue next{other, path, options()};
  auto waiting = next.async_claim(boost::asio::use_future);
  job.release();
  EXPECT_EQ(waiting.get()->data(), "job");
}

TEST_P(claiming, the_end_of_a_session_releases_its_items) {
  queue q{zk, path, options()};
  q.push("job");
  client other{shared_server().connect_string()};
  {
    queue its{other, path, options()};
    auto job = its.claim();
    auto waiting = q.async_claim(boost::asio::use_future);
    other.close();
    EXPECT_TRUE(job.lost().stop_requested());
    EXPECT_FALSE(job.held());
    EXPECT_EQ(code_of([&] { job.complete(); }), errc::lock_lost);
    const auto again = waiting.get();
    EXPECT_EQ(again->data(), "job");
    EXPECT_EQ(again->attempts(), 2);
  }
}

TEST_P(claiming, two_consumers_never_hold_the_same_item) {
  constexpr std::size_t count = 400;
  queue from{zk, path, options()};
  for (std::size_t i = 0; i < count; i += 100)
    from.push(numbered(static_cast<int>(i), static_cast<int>(i) + 100));
  std::mutex guard;
  std::vector<std::string> working, finished;
  std::vector<std::thread> workers;
  for (int k = 0; k < 4; ++k)
    workers.emplace_back([&] {
      client own{shared_server().connect_string()};
      queue q{own, path, options()};
      for (;;) {
        {
          const std::lock_guard lock{guard};
          if (finished.size() == count) return;
        }
        auto job = q.claim_for(100ms);
        if (!job) continue;
        {
          const std::lock_guard lock{guard};
          EXPECT_EQ(std::count(working.begin(), working.end(), job->data()), 0) << job->data();
          working.push_back(job->data());
        }
        const bool fails = job->attempts() == 1 && job->data().ends_with('7');
        {
          const std::lock_guard lock{guard};
          std::erase(working, job->data());
          if (!fails) finished.push_back(job->data());
        }
        if (fails)
          job->release();
        else
          job->complete();
      }
    });
  for (auto& w : workers) w.join();
  EXPECT_EQ(sorted(finished), sorted(numbered(0, count)));
  EXPECT_EQ(from.size(), 0u);
}

TEST_P(claiming, an_item_that_fails_too_often_is_set_aside) {
  queue q{zk, path, options(2)};
  q.push("poison");
  q.push("good");
  for (int i = 1; i <= 2; ++i) {
    auto job = q.claim();
    EXPECT_EQ(job.data(), "poison");
    EXPECT_EQ(job.attempts(), i);
  }
  auto job = q.claim();
  EXPECT_EQ(job.data(), "good");
  job.complete();
  const auto aside = q.set_aside();
  ASSERT_EQ(aside.size(), 1u);
  EXPECT_EQ(aside[0].data, "poison");
  EXPECT_EQ(q.size(), 0u);

  q.restore(aside[0]);
  EXPECT_TRUE(q.set_aside().empty());
  EXPECT_EQ(code_of([&] { q.restore(aside[0]); }), errc::no_node);
  auto restored = q.claim();
  EXPECT_EQ(restored.data(), "poison");
  EXPECT_EQ(restored.attempts(), 1);
}

TEST_P(claiming, restoring_keeps_data_and_priority) {
  queue q{zk, path, options(1)};
  q.push("poison");
  { const auto job = q.claim(); }
  EXPECT_FALSE(q.try_claim());
  const auto aside = q.set_aside();
  ASSERT_EQ(aside.size(), 1u);
  EXPECT_EQ(code_of([&] { q.restore({"no such name", {}}); }), errc::invalid_argument);
  q.restore({aside[0].name, "other data", 5});
  const auto again = q.claim();
  EXPECT_EQ(again.data(), "poison");
  EXPECT_EQ(again.priority(), default_priority);
}

TEST_P(claiming, restoring_creates_a_removed_queue_again) {
  queue q{zk, path + "/deep/down", options(1)};
  q.push("poison");
  { const auto job = q.claim(); }
  EXPECT_FALSE(q.try_claim());
  const auto aside = q.set_aside();
  ASSERT_EQ(aside.size(), 1u);
  const auto items = q.item_path({});
  zk.remove(items.substr(0, items.size() - 1));
  q.restore(aside[0]);
  EXPECT_EQ(q.claim().data(), "poison");
}

TEST_P(claiming, items_set_aside_can_be_discarded) {
  queue q{zk, path, options(1)};
  q.push(numbered(0, 20));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(q.claim().data(), std::to_string(i));
  EXPECT_FALSE(q.try_claim());
  const auto aside = q.set_aside();
  std::vector<std::string> data;
  for (const auto& item : aside) data.push_back(item.data);
  EXPECT_EQ(data, numbered(0, 20));
  for (const auto& item : aside) q.discard(item);
  EXPECT_TRUE(q.set_aside().empty());
  q.discard(aside[0]);
}

// The numbering of item names restarts after the path was removed.
TEST_P(claiming, two_items_of_the_same_name_can_be_set_aside) {
  queue q{zk, path + "/new", options(1)};  // created by Conclave, so no identity node is in it
  for (int life = 1; life <= 2; ++life) {
    q.push("poison " + std::to_string(life));
    { const auto job = q.claim(); }
    EXPECT_FALSE(q.try_claim());
    const auto items = q.item_path({});
    zk.remove(items.substr(0, items.size() - 1));
  }
  const auto aside = q.set_aside();
  ASSERT_EQ(aside.size(), 2u);
  EXPECT_EQ(aside[0].data, "poison 1");
  EXPECT_EQ(aside[1].data, "poison 2");
}

TEST_P(claiming, every_item_that_fits_a_push_can_be_claimed_and_set_aside) {
  for (const std::size_t length : {1u, 90u, 400u}) {
    queue q{zk, path + '/' + std::string(length, 'p'), options(1)};
    std::string item(1 << 20, 'x');  // refused, before it is sent, until it fits
    while (code_of([&] { q.push(item); }) == errc::too_large) item.resize(item.size() - 8);
    EXPECT_EQ(q.claim().data().size(), item.size());
    EXPECT_FALSE(q.try_claim());
    ASSERT_EQ(q.set_aside().size(), 1u);
    q.restore(q.set_aside()[0]);
    EXPECT_EQ(q.claim().data().size(), item.size());
  }
}

TEST_P(claiming, an_empty_claim_throws) {
  queue_claim none;
  EXPECT_FALSE(none);
  EXPECT_FALSE(none.held());
  none.release();
  EXPECT_EQ(code_of([&] { none.data(); }), errc::lock_lost);
  EXPECT_EQ(code_of([&] { none.name(); }), errc::lock_lost);
  EXPECT_EQ(code_of([&] { none.attempts(); }), errc::lock_lost);
  EXPECT_EQ(code_of([&] { none.complete(); }), errc::lock_lost);
  EXPECT_EQ(code_of([&] { none.async_complete(boost::asio::use_future).get(); }), errc::lock_lost);
}

TEST_P(claiming, the_last_attempt_is_not_set_aside_while_it_is_held) {
  queue q{zk, path, options(1)};
  q.push("job");
  auto job = q.claim();
  client other{shared_server().connect_string()};
  queue next{other, path, options(1)};
  EXPECT_FALSE(next.try_claim());
  EXPECT_TRUE(next.set_aside().empty());
  job.complete();
  EXPECT_TRUE(next.set_aside().empty());
}

TEST_P(claiming, fenced_writes_fail_after_completion) {
  queue q{zk, path, options()};
  q.push("job");
  auto job = q.claim();
  const auto result = fresh_node(zk, "result");
  zk.commit(job.hold().fenced(transaction{}.set(result, "1")));
  const auto late = job.hold();
  job.complete();
  EXPECT_TRUE(code_of([&] { zk.commit(late.fenced(transaction{}.set(result, "2"))); }));
  EXPECT_EQ(zk.get(result).data, "1");
}

TEST_P(claiming, concurrent_claims_get_one_item_each) {
  queue q{zk, path, options()};
  q.push(numbered(0, 100));
  std::vector<std::future<std::optional<queue_claim>>> asked;
  for (int i = 0; i < 100; ++i) asked.push_back(q.async_claim(boost::asio::use_future));
  std::vector<std::string> got;
  for (auto& each : asked) {
    auto job = each.get();
    got.push_back(job->data());
    job->async_complete(boost::asio::use_future).get();
  }
  EXPECT_EQ(sorted(got), sorted(numbered(0, 100)));
  EXPECT_EQ(q.size(), 0u);
}

}  // namespace
}  // namespace conclave::testing
