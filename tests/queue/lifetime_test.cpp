// Calls that wait in a queue that is destroyed. What they must not touch any more shows with the
// sanitizers.
#include <future>
#include <thread>

#include <boost/asio/use_future.hpp>

#include "queue/fixture.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

class destroyed_queue : public one_queue {
 protected:
  // What a call in another thread throws when the queue goes.
  template <class F>
  error_code end_of(F&& call) {
    // Another one each time: the last one's consumer may not have left its line yet.
    const auto name =
        path + "/a-queue-whose-name-is-long-enough-to-lie-on-the-heap" + std::to_string(++calls);
    auto q = std::make_unique<queue>(zk, name);
    error_code ec;
    std::thread waiting{[&, &of = *q] { ec = code_of([&] { call(of); }); }};
    const auto in_line = [&] {
      const auto line = zk.exists(name + ".conclave/waiting");
      return line && line->num_children == 1;
    };
    while (!in_line()) std::this_thread::sleep_for(1ms);
    q.reset();
    waiting.join();
    return ec;
  }
  int calls = 0;
  const error_code aborted = boost::asio::error::operation_aborted;
};

TEST_F(destroyed_queue, ends_calls_that_wait) {
  EXPECT_EQ(end_of([](queue& q) { q.pop(); }), aborted);
  EXPECT_EQ(end_of([](queue& q) { q.claim(); }), aborted);
}

TEST_F(destroyed_queue, ends_calls_that_wait_with_a_deadline) {
  EXPECT_EQ(end_of([](queue& q) { q.pop_for(1h); }), aborted);
  EXPECT_EQ(end_of([](queue& q) { q.claim_for(1h); }), aborted);
}

TEST_F(destroyed_queue, ends_calls_that_wait_with_a_stop_token) {
  std::stop_source stop;
  EXPECT_EQ(end_of([&](queue& q) { q.pop(stop.get_token()); }), aborted);
  EXPECT_EQ(end_of([&](queue& q) { q.claim(stop.get_token()); }), aborted);
}

// Its client waits for a server that does not answer.
TEST_F(destroyed_queue, of_a_client_that_is_being_closed_takes_nothing) {
  link_proxy proxy{shared_server().port()};
  client other{proxy.connect_string(), with_timeout(60s)};
  queue q{other, path};
  q.push("item");
  proxy.blackhole(true);
  auto closed = other.async_close(boost::asio::use_future);
  EXPECT_EQ(code_of([&] { q.push("item"); }), errc::closed);
  EXPECT_EQ(code_of([&] { q.pop(); }), errc::closed);
  EXPECT_EQ(closed.wait_for(0s), std::future_status::timeout);
  proxy.cut();
  closed.get();
}

}  // namespace
}  // namespace conclave::testing
