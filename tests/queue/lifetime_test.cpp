// Calls that wait while their queue is destroyed. The sanitizers find accesses to freed memory.
#include <future>
#include <thread>

#include <boost/asio/use_future.hpp>

#include "queue/fixture.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

class destroyed_queue : public one_queue {
 protected:
  // Returns the error of a call in another thread whose queue is destroyed.
  template <class F>
  error_code error_of(F&& call) {
    // A new name each time: the consumer before may not have left its wait queue yet.
    const auto name =
        path + "/a-queue-whose-name-is-long-enough-to-lie-on-the-heap" + std::to_string(++calls);
    auto q = std::make_unique<queue>(zk, name);
    error_code ec;
    std::thread waiting{[&, &of = *q] { ec = code_of([&] { call(of); }); }};
    const auto waits = [&] {
      const auto wait_queue = zk.exists(name + ".conclave/waiting");
      return wait_queue && wait_queue->num_children == 1;
    };
    while (!waits()) std::this_thread::sleep_for(1ms);
    q.reset();
    waiting.join();
    return ec;
  }
  int calls = 0;
  const error_code aborted = boost::asio::error::operation_aborted;
};

TEST_F(destroyed_queue, aborts_waiting_calls) {
  EXPECT_EQ(error_of([](queue& q) { q.pop(); }), aborted);
  EXPECT_EQ(error_of([](queue& q) { q.claim(); }), aborted);
}

TEST_F(destroyed_queue, aborts_waiting_calls_with_a_deadline) {
  EXPECT_EQ(error_of([](queue& q) { q.pop_for(1h); }), aborted);
  EXPECT_EQ(error_of([](queue& q) { q.claim_for(1h); }), aborted);
}

TEST_F(destroyed_queue, aborts_waiting_calls_with_a_stop_token) {
  std::stop_source stop;
  EXPECT_EQ(error_of([&](queue& q) { q.pop(stop.get_token()); }), aborted);
  EXPECT_EQ(error_of([&](queue& q) { q.claim(stop.get_token()); }), aborted);
}

TEST_F(destroyed_queue, aborts_only_its_own_calls) {
  queue remaining{zk, path};
  auto first = remaining.async_pop(boost::asio::use_future);
  auto destroyed = std::make_unique<queue>(zk, path);
  inbox<error_code> gone;
  destroyed->async_pop([&](error_code ec, const std::optional<queue_item>&) { gone.put(ec); });
  auto last = remaining.async_pop(boost::asio::use_future);
  destroyed.reset();
  EXPECT_EQ(gone.take(), aborted);
  remaining.push({"1", "2"});
  EXPECT_EQ(first.get()->data, "1");
  EXPECT_EQ(last.get()->data, "2");
}

// The client waits for a server that does not reply.
TEST_F(destroyed_queue, calls_fail_while_the_client_is_being_closed) {
  link_proxy proxy{shared_server().port()};
  client other{proxy.connect_string(), with_timeout(60s)};
  queue q{other, path};
  q.push("item");
  proxy.blackhole(true);
  auto closed = other.async_close(boost::asio::use_future);
  EXPECT_EQ(code_of([&] { q.push("item"); }), errc::closed);
  EXPECT_EQ(code_of([&] { q.pop(); }), errc::closed);
  EXPECT_EQ(closed.wait_for(0s), std::future_status::timeout);
  proxy.disconnect();
  closed.get();
}

}  // namespace
}  // namespace conclave::testing
