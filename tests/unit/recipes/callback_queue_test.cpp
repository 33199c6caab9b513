// The queue of a lock's or election's callbacks: their order, and what close() does.
#include "recipes/callback_queue.hpp"

#include <future>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace conclave::recipes {
namespace {

struct callbacks : testing::Test {
  callback_queue queue;
  std::string called;
  std::function<void()> note(char c) {
    return [this, c] { called += c; };
  }
};

TEST_F(callbacks, run_in_order) {
  queue.push([&] {
    called += '1';
    queue.push(note('3'));
    queue.run();  // does not nest
    called += '.';
  });
  queue.push(note('2'));
  EXPECT_EQ(called, "");
  queue.run();
  EXPECT_EQ(called, "1.23");
}

TEST_F(callbacks, run_before_close_returns) {
  queue.push(note('1'));
  queue.push([&] { queue.push(note('3')); });
  queue.push(note('2'));
  queue.close();
  EXPECT_EQ(called, "12");
  queue.push(note('4'));
  queue.run();
  EXPECT_EQ(called, "12");
}

TEST_F(callbacks, run_before_close_returns_to_one_of_them) {
  queue.push([&] {
    called += '1';
    queue.close();
    called += '.';
    queue.push(note('4'));
  });
  queue.push(note('2'));
  queue.push(note('3'));
  queue.run();
  EXPECT_EQ(called, "123.");
}

TEST_F(callbacks, run_before_close_returns_while_another_thread_runs_them) {
  std::promise<void> entered, go_on;
  queue.push([&] {
    entered.set_value();
    go_on.get_future().wait();
    called += '1';
  });
  std::thread runner{[&] { queue.run(); }};
  entered.get_future().wait();
  queue.push(note('2'));
  std::string seen;
  std::thread closing{[&] {
    queue.close();
    seen = called;
  }};
  go_on.set_value();
  closing.join();
  runner.join();
  EXPECT_EQ(seen, "12");
}

TEST_F(callbacks, can_be_discarded) {
  queue.push(note('1'));
  queue.close(callback_queue::rest::discard);
  EXPECT_EQ(called, "");
}

}  // namespace
}  // namespace conclave::recipes
