// Pushing items: sizes, limits and refused pushes.
#include <thread>

#include <boost/asio/use_future.hpp>

#include "queue/fixture.hpp"

namespace conclave::testing {
namespace {

using pushing = one_queue;

TEST_F(pushing, creates_the_queue) {
  queue q{zk, path + "/deep/down"};
  q.push("x");
  EXPECT_EQ(q.names(), (std::vector<std::string>{"qn-0000000000"}));
  EXPECT_EQ(zk.get(path + "/deep/down/qn-0000000000").data, "x");
}

TEST_F(pushing, several_items_are_pushed_in_one_transaction) {
  queue q{zk, path};
  q.push(numbered(0, 10));
  const auto names = q.names();
  ASSERT_EQ(names.size(), 10u);
  const auto made = zk.get(q.item_path(names.front())).stat.czxid;
  for (const auto& name : names) EXPECT_EQ(zk.get(q.item_path(name)).stat.czxid, made);
}

TEST_F(pushing, no_items_push_nothing) {
  queue q{zk, path};
  q.push(std::vector<std::string>{});
  EXPECT_EQ(q.size(), 0u);
}

TEST_F(pushing, items_may_contain_any_bytes_or_none) {
  queue q{zk, path};
  const std::string bytes{"\0\xff\n", 3};
  q.push({bytes, ""});
  EXPECT_EQ(q.pop().data, bytes);
  EXPECT_EQ(q.pop().data, "");
}

TEST_F(pushing, all_overloads_push_one_or_several_items) {
  queue q{zk, path};
  q.push("0");
  EXPECT_TRUE(q.try_push("1"));
  EXPECT_TRUE(q.try_push({"2"}));
  EXPECT_TRUE(q.try_push({"3", "4"}));
  EXPECT_TRUE(q.push_for(1s, "5"));
  EXPECT_TRUE(q.push_for(1s, {"6", "7"}));
  EXPECT_TRUE(q.async_push("8", default_priority, boost::asio::use_future).get());
  EXPECT_TRUE(q.async_push({"9", "10"}, default_priority, boost::asio::use_future).get());
  EXPECT_TRUE(q.async_push("11", boost::asio::use_future).get());
  EXPECT_TRUE(q.async_push({"12", "13"}, boost::asio::use_future).get());
  EXPECT_TRUE(q.async_push(numbered(14, 16), boost::asio::use_future).get());
  EXPECT_EQ(drain(q), numbered(0, 16));
}

TEST_F(pushing, many_small_items_fill_a_request) {
  queue q{zk, path};
  q.push(std::vector<std::string>(8'000, "x"));
  EXPECT_EQ(q.size(), 8'000u);
}

TEST_F(pushing, items_that_do_not_fit_are_refused_before_sending) {
  queue q{zk, path};
  EXPECT_EQ(code_of([&] { q.push(std::string(1 << 20, 'x')); }), errc::too_large);
  EXPECT_EQ(code_of([&] { q.push(std::vector<std::string>(3, std::string(400'000, 'x'))); }),
            errc::too_large);
  q.push(std::string(1'000'000, 'x'));
  EXPECT_EQ(q.pop().data.size(), 1'000'000u);
}

TEST_F(pushing, a_layout_without_priorities_accepts_only_the_default) {
  queue q{zk, path};
  EXPECT_EQ(code_of([&] { q.push("x", 5); }), errc::invalid_argument);
  q.push("x", default_priority);
}

TEST_F(pushing, a_bad_path_is_refused) {
  EXPECT_EQ(code_of([&] { queue(zk, "jobs"); }), errc::invalid_path);
  EXPECT_EQ(code_of([&] { queue(zk, "/"); }), errc::invalid_path);
  EXPECT_EQ(code_of([&] { queue(zk, "/a//b"); }), errc::invalid_path);
}

TEST_F(pushing, concurrent_calls_keep_their_order) {
  queue q{zk, path};
  std::vector<std::future<bool>> done;
  for (const auto& each : numbered(0, 500))
    done.push_back(q.async_push({each}, default_priority, boost::asio::use_future));
  for (auto& each : done) EXPECT_TRUE(each.get());
  EXPECT_EQ(drain(q), numbered(0, 500));
}

TEST_F(pushing, leaves_no_counter_node_behind) {
  {
    queue q{zk, path};
    q.push("x");
    q.pop();
    EXPECT_EQ(zk.children(path + ".conclave/producers").names.size(), 1u);
    EXPECT_EQ(zk.children(path + ".conclave/consumers").names.size(), 1u);
  }
  zk.sync();
  EXPECT_EQ(zk.children(path + ".conclave/producers").names.size(), 0u);
  EXPECT_EQ(zk.children(path + ".conclave/consumers").names.size(), 0u);
}

// --- with a capacity

class full_queue : public one_queue {
 protected:
  static queue_options of(std::size_t capacity) {
    queue_options o;
    o.capacity = capacity;
    return o;
  }
};

TEST_F(full_queue, refuses_pushes_that_do_not_wait) {
  queue q{zk, path, of(3)};
  EXPECT_TRUE(q.try_push(numbered(0, 3)));
  EXPECT_FALSE(q.try_push({"x"}));
  EXPECT_FALSE(q.push_for(20ms, {"x"}));
  q.pop();
  EXPECT_FALSE(q.try_push({"x", "y"})) << "all or none";
  EXPECT_TRUE(q.try_push({"x"}));
  EXPECT_EQ(drain(q), (std::vector<std::string>{"1", "2", "x"}));
}

TEST_F(full_queue, a_waiting_push_continues_when_an_item_is_popped) {
  queue q{zk, path, of(2)};
  q.push(numbered(0, 2));
  auto waiting = q.async_push({"2"}, default_priority, boost::asio::use_future);
  EXPECT_EQ(waiting.wait_for(0ms), std::future_status::timeout);
  client other{shared_server().connect_string()};
  queue from{other, path};
  EXPECT_EQ(from.pop().data, "0");
  EXPECT_TRUE(waiting.get());
  EXPECT_EQ(drain(q), numbered(1, 3));
}

TEST_F(full_queue, a_waiting_push_continues_when_any_item_is_completed) {
  queue q{zk, path, of(4)};
  q.push(numbered(0, 4));
  auto long_job = q.claim();
  auto waiting = q.async_push("4", default_priority, boost::asio::use_future);
  EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout);
  q.claim().complete();
  EXPECT_TRUE(waiting.get());
}

TEST_F(full_queue, refuses_pushes_that_do_not_wait_while_another_waits) {
  queue q{zk, path, of(1)};
  q.push("0");
  auto waiting = q.async_push("1", default_priority, boost::asio::use_future);
  EXPECT_EQ(waiting.wait_for(100ms), std::future_status::timeout);
  EXPECT_FALSE(q.try_push("x"));
  EXPECT_EQ(q.pop().data, "0");
  EXPECT_TRUE(waiting.get());
}

TEST_F(full_queue, accepts_a_push_above_its_capacity_when_empty) {
  queue q{zk, path, of(2)};
  q.push(numbered(0, 5));
  auto waiting = q.async_push(numbered(5, 10), default_priority, boost::asio::use_future);
  for (const auto& each : numbered(0, 10)) EXPECT_EQ(q.pop().data, each);
  EXPECT_TRUE(waiting.get());
}

TEST_F(full_queue, never_grows_beyond_its_capacity_with_one_producer) {
  queue to{zk, path, of(4)};
  std::thread producer{[&] {
    for (const auto& each : numbered(0, 200)) to.push(each);
  }};
  client other{shared_server().connect_string()};
  queue from{other, path};
  for (const auto& each : numbered(0, 200)) {
    EXPECT_LE(from.size(), 4u);
    EXPECT_EQ(from.pop().data, each);
  }
  producer.join();
}

TEST_F(full_queue, destroying_the_queue_aborts_a_waiting_push) {
  inbox<error_code> results;
  {
    queue q{zk, path, of(1)};
    q.push("x");
    q.async_push({"y"}, default_priority, [&](error_code ec, bool) { results.put(ec); });
  }
  EXPECT_EQ(results.take(), boost::asio::error::operation_aborted);
  EXPECT_EQ((queue{zk, path}).size(), 1u);
}

}  // namespace
}  // namespace conclave::testing
