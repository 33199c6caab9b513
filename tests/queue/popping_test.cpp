// Popping items: the cases of ZooKeeper's own tests for its queue, and more.
#include <thread>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_future.hpp>

#include "queue/fixture.hpp"

namespace conclave::testing {
namespace {

using popping = one_queue;

TEST_F(popping, an_item_is_popped_once) {
  queue q{zk, path};
  q.push("hello");
  EXPECT_EQ(q.size(), 1u);
  EXPECT_EQ(q.try_pop()->data, "hello");
  EXPECT_EQ(q.size(), 0u);
  EXPECT_FALSE(q.try_pop());
}

TEST_F(popping, items_are_popped_in_push_order) {
  queue q{zk, path};
  for (int i = 0; i < 50; ++i) q.push(std::to_string(i));
  q.push(numbered(50, 100));
  EXPECT_EQ(drain(q), numbered(0, 100));
}

TEST_F(popping, items_of_another_client_are_popped) {
  client other{shared_server().connect_string()};
  queue from{other, path};
  queue to{zk, path};
  from.push(numbered(0, 10));
  EXPECT_EQ(drain(to), numbered(0, 10));
}

TEST_F(popping, front_does_not_remove_the_item) {
  queue q{zk, path};
  EXPECT_FALSE(q.front());
  q.push(numbered(0, 3));
  EXPECT_EQ(q.front()->data, "0");
  EXPECT_EQ(q.front()->data, "0");
  (void)q.try_pop();
  EXPECT_EQ(q.front()->data, "1");
  EXPECT_EQ(q.async_front(boost::asio::use_future).get()->data, "1");
}

TEST_F(popping, a_queue_that_does_not_exist_is_empty) {
  queue q{zk, path + "/not/there"};
  EXPECT_FALSE(q.try_pop());
  EXPECT_FALSE(q.front());
  EXPECT_FALSE(q.try_claim());
  EXPECT_EQ(q.size(), 0u);
  EXPECT_TRUE(q.names().empty());
  EXPECT_FALSE(zk.exists(path + "/not")) << "reading creates nothing";
}

TEST_F(popping, queue_objects_of_a_client_are_one_consumer) {
  constexpr int count = 50;
  inbox<std::string> got;
  std::vector<std::unique_ptr<queue>> queues;
  for (int i = 0; i < count; ++i) {
    queues.push_back(std::make_unique<queue>(zk, path));
    queues.back()->async_pop([&](error_code ec, std::optional<queue_item> item) {
      got.put(ec ? ec.message() : item->data);
    });
  }
  const auto wait_queue = path + ".conclave/waiting";
  while (!zk.exists(wait_queue)) std::this_thread::sleep_for(1ms);
  for (int i = 0; i < 3; ++i) zk.sync();  // others would have entered by now
  EXPECT_EQ(zk.children(wait_queue).names.size(), 1u);
  queues.front()->push(numbered(0, count));
  for (int i = 0; i < count; ++i) EXPECT_EQ(got.take(), std::to_string(i)) << "in order";
  EXPECT_EQ(zk.children(path + ".conclave/consumers").names.size(), 1u);
}

TEST_F(popping, waits_for_the_first_item) {
  queue q{zk, path};
  client other{shared_server().connect_string()};
  queue from{other, path};
  auto next = q.async_pop(boost::asio::use_future);
  from.push("late");
  EXPECT_EQ(next.get()->data, "late");
}

TEST_F(popping, waits_for_a_queue_that_does_not_exist) {
  queue q{zk, path + "/new/one"};
  auto next = q.async_pop(boost::asio::use_future);
  client other{shared_server().connect_string()};
  queue{other, path + "/new/one"}.push("first");
  EXPECT_EQ(next.get()->data, "first");
}

TEST_F(popping, a_push_wakes_a_waiting_thread) {
  queue q{zk, path};
  std::string got;
  std::thread popper{[&] { got = q.pop().data; }};
  queue{zk, path}.push("for the thread");
  popper.join();
  EXPECT_EQ(got, "for the thread");
}

TEST_F(popping, returns_nothing_when_the_deadline_passes) {
  queue q{zk, path};
  EXPECT_FALSE(q.pop_for(20ms));
  EXPECT_FALSE(q.pop_until(std::chrono::system_clock::now() + 20ms));
  EXPECT_FALSE(q.async_pop_for(20ms, boost::asio::use_future).get());
  q.push("now");
  EXPECT_EQ(q.pop_for(10s)->data, "now");
}

TEST_F(popping, returns_nothing_when_a_stop_is_requested) {
  queue q{zk, path};
  std::stop_source stop;
  std::optional<queue_item> got{queue_item{}};
  std::thread popper{[&] { got = q.pop(stop.get_token()); }};
  stop.request_stop();
  popper.join();
  EXPECT_FALSE(got);
  q.push("still there");
  EXPECT_FALSE(q.pop(stop.get_token()));
  EXPECT_EQ(q.pop(std::stop_token{})->data, "still there");
}

TEST_F(popping, can_be_cancelled) {
  queue q{zk, path};
  boost::asio::cancellation_signal cancel;
  inbox<error_code> results;
  q.async_pop(boost::asio::bind_cancellation_slot(
      cancel.slot(), [&](error_code ec, std::optional<queue_item>) { results.put(ec); }));
  cancel.emit(boost::asio::cancellation_type::terminal);
  EXPECT_EQ(results.take(), boost::asio::error::operation_aborted);
  q.push("not lost");
  EXPECT_EQ(q.pop().data, "not lost");
}

TEST_F(popping, is_aborted_when_the_queue_is_destroyed) {
  inbox<error_code> results;
  {
    queue q{zk, path};
    q.async_pop([&](error_code ec, std::optional<queue_item>) { results.put(ec); });
  }
  EXPECT_EQ(results.take(), boost::asio::error::operation_aborted);
}

TEST_F(popping, fails_when_the_client_is_closed) {
  client other{shared_server().connect_string()};
  queue q{other, path};
  inbox<error_code> results;
  q.async_pop([&](error_code ec, std::optional<queue_item>) { results.put(ec); });
  other.close();
  EXPECT_EQ(results.take(), errc::closed);
}

TEST_F(popping, foreign_children_are_ignored) {
  zk.create(path + "/stray", "x");
  zk.create(path + "/qn-", "x");
  zk.create(path + "/qn-12", "x");
  queue q{zk, path};
  q.push("item");
  EXPECT_EQ(q.names().size(), 1u);
  EXPECT_EQ(drain(q), (std::vector<std::string>{"item"}));
  EXPECT_TRUE(zk.exists(path + "/qn-12"));
}

TEST_F(popping, concurrent_calls_get_one_item_each) {
  queue q{zk, path};
  inbox<std::string> got;
  for (int i = 0; i < 300; ++i)
    q.async_pop([&](error_code ec, std::optional<queue_item> item) {
      got.put(ec ? ec.message() : item->data);
    });
  q.push(numbered(0, 300));
  std::vector<std::string> all;
  for (int i = 0; i < 300; ++i) all.push_back(*got.take());
  EXPECT_EQ(all, numbered(0, 300));
}

TEST_F(popping, returns_data_that_was_written_after_reading_ahead) {
  queue q{zk, path};
  q.push(numbered(0, 3));
  EXPECT_EQ(q.pop().data, "0");  // has requested the next item, too
  zk.set(q.item_path(q.names().front()), "changed");
  EXPECT_EQ(q.pop().data, "changed");
}

TEST_F(popping, items_are_ordered_by_priority) {
  queue_options o;
  o.layout = queue_layout::kazoo;
  queue q{zk, path, o};
  q.push("c", 200);
  q.push("b1");
  q.push("a", 5);
  q.push("b2");
  EXPECT_EQ(drain(q), (std::vector<std::string>{"a", "b1", "b2", "c"}));
  EXPECT_EQ(code_of([&] { q.push("x", 1000); }), errc::invalid_argument);
  EXPECT_EQ(code_of([&] { q.push("x", -1); }), errc::invalid_argument);
}

// --- several consumers

TEST_F(popping, several_consumers_divide_the_items) {
  constexpr int count = 2000;
  queue from{zk, path};
  for (int i = 0; i < count; i += 100) from.push(numbered(i, i + 100));
  std::mutex guard;
  std::vector<std::string> all;
  std::vector<std::thread> poppers;
  std::vector<std::size_t> shares(4);
  for (std::size_t k = 0; k < shares.size(); ++k)
    poppers.emplace_back([&, k] {
      client own{shared_server().connect_string()};
      queue q{own, path};
      while (const auto item = q.try_pop()) {
        const std::lock_guard lock{guard};
        all.push_back(item->data);
        ++shares[k];
      }
    });
  for (auto& p : poppers) p.join();
  EXPECT_EQ(sorted(all), sorted(numbered(0, count)));
  for (const auto share : shares) EXPECT_GT(share, 0u);
}

TEST_F(popping, waiting_consumers_get_one_item_each) {
  constexpr std::size_t count = 6;
  std::vector<std::unique_ptr<client>> clients;
  std::vector<std::unique_ptr<queue>> queues;
  inbox<std::string> got;
  for (std::size_t i = 0; i < count; ++i) {
    clients.push_back(std::make_unique<client>(shared_server().connect_string()));
    queues.push_back(std::make_unique<queue>(*clients.back(), path));
    queues.back()->async_pop([&](error_code ec, std::optional<queue_item> item) {
      got.put(ec ? ec.message() : item->data);
    });
  }
  queue from{zk, path};
  std::vector<std::string> all;
  for (const auto& each : numbered(0, count)) {
    from.push(each);
    all.push_back(*got.take());
  }
  EXPECT_EQ(all, numbered(0, count));
}

// A consumer that listed the items and then pops none must not keep its share from others.
TEST_F(popping, the_share_of_an_idle_consumer_is_popped_by_the_others) {
  queue from{zk, path};
  from.push(numbered(0, 200));
  client lazy{shared_server().connect_string()};
  queue idle{lazy, path};
  EXPECT_EQ(idle.pop().data, "0");
  queue q{zk, path};
  std::vector<std::string> all;
  for (int i = 0; i < 199; ++i) all.push_back(q.pop().data);
  EXPECT_EQ(sorted(all), sorted(numbered(1, 200)));
}

// Its items may be claimed, and a pop ignores claims.
TEST_F(popping, is_refused_in_a_layout_for_claims_only) {
  queue_options o;
  o.layout = queue_layout::kazoo_locking;
  queue q{zk, path, o};
  q.push("x");
  EXPECT_EQ(code_of([&] { q.pop(); }), errc::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)q.try_pop(); }), errc::invalid_argument);
  EXPECT_EQ(code_of([&] { q.pop_for(1s); }), errc::invalid_argument);
  EXPECT_EQ(code_of([&] { q.pop(std::stop_source{}.get_token()); }), errc::invalid_argument);
  inbox<error_code> results;
  q.async_pop([&](error_code ec, const auto&) { results.put(ec); });
  EXPECT_EQ(results.take(), errc::invalid_argument);
  EXPECT_EQ(q.claim().data(), "x");
}

TEST_F(popping, fails_if_all_items_have_another_layout) {
  queue_options o;
  o.layout = queue_layout::kazoo;
  queue theirs{zk, path, o}, q{zk, path};
  theirs.push("x");
  EXPECT_EQ(code_of([&] { (void)q.try_pop(); }), errc::layout_mismatch);
  EXPECT_EQ(code_of([&] { q.pop(); }), errc::layout_mismatch);
  EXPECT_EQ(code_of([&] { q.claim(); }), errc::layout_mismatch);
  EXPECT_EQ(code_of([&] { q.front(); }), errc::layout_mismatch);
  EXPECT_EQ(code_of([&] { q.names(); }), errc::layout_mismatch);
  q.push("ours");
  EXPECT_EQ(q.pop().data, "ours") << "items of its own layout are popped";
  EXPECT_EQ(theirs.pop().data, "x");
}

// In the layout kazoo_locking, the items are in another node than in the other layouts.
TEST_F(popping, fails_if_all_items_are_in_the_node_of_another_layout) {
  queue_options o;
  o.layout = queue_layout::kazoo_locking;
  queue locking{zk, path, o}, q{zk, path};
  locking.push({"a", "b"});
  EXPECT_EQ(code_of([&] { (void)q.try_pop(); }), errc::layout_mismatch);
  EXPECT_EQ(code_of([&] { q.pop(); }), errc::layout_mismatch);
  EXPECT_EQ(code_of([&] { q.claim(); }), errc::layout_mismatch);
  EXPECT_EQ(code_of([&] { q.front(); }), errc::layout_mismatch);
  EXPECT_EQ(code_of([&] { q.names(); }), errc::layout_mismatch);
  EXPECT_EQ(code_of([&] { (void)q.size(); }), errc::layout_mismatch);
  EXPECT_EQ(locking.size(), 2u);
  const auto plain = fresh_node(zk, "queue");
  queue theirs{zk, plain}, late{zk, plain, o};
  theirs.push("x");
  EXPECT_EQ(code_of([&] { (void)late.try_claim(); }), errc::layout_mismatch);
  EXPECT_EQ(code_of([&] { late.claim(); }), errc::layout_mismatch);
  EXPECT_EQ(code_of([&] { late.front(); }), errc::layout_mismatch);
  EXPECT_EQ(code_of([&] { late.names(); }), errc::layout_mismatch);
  EXPECT_EQ(code_of([&] { (void)late.size(); }), errc::layout_mismatch);
  EXPECT_FALSE(zk.exists(plain + "/entries"));
  EXPECT_EQ(theirs.pop().data, "x");
}

}  // namespace
}  // namespace conclave::testing
