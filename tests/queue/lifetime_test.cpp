// Calls that wait in a queue that is destroyed. What they must not touch any more shows with the
// sanitizers.
#include <thread>

#include "queue/fixture.hpp"

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

}  // namespace
}  // namespace conclave::testing
