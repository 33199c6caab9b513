// Guards and the callbacks of a hold.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include "conclave/conclave.hpp"
#include "locks/lock_observer.hpp"

namespace conclave::testing {
namespace {

namespace asio = boost::asio;
using asio::use_awaitable;

class guard : public ::testing::Test {
 protected:
  // Throws what the coroutine throws.
  static void run(asio::awaitable<void> f) {
    asio::io_context io;
    auto ended = asio::co_spawn(io, std::move(f), asio::use_future);
    io.run();
    ended.get();
  }

  lock_observer wait_queue{"guard"};
  client zk{shared_server().connect_string()}, other{shared_server().connect_string()};
};

asio::awaitable<void> lock_twice(mutex& m, mutex& same) {
  {
    auto held = co_await m.async_scoped_lock(use_awaitable);
    EXPECT_TRUE(held && held.held() && m.held());
    EXPECT_EQ(held.fencing_token(), m.fencing_token());
    EXPECT_FALSE(co_await same.async_try_scoped_lock_for(0s, use_awaitable));
  }
  EXPECT_FALSE(m.held());
  const auto again = co_await same.async_try_scoped_lock_for(wait_limit, use_awaitable);
  EXPECT_TRUE(again);
}

TEST_F(guard, releases_at_the_end_of_its_scope) {
  mutex m{zk, wait_queue.path()}, same{other, wait_queue.path()};
  run(lock_twice(m, same));
  EXPECT_TRUE(wait_queue.wait_for(0));
}

asio::awaitable<void> lock_and_throw(mutex& m) {
  const auto held = co_await m.async_scoped_lock(use_awaitable);
  throw std::runtime_error{"on purpose"};
}

TEST_F(guard, releases_when_its_coroutine_throws) {
  mutex m{zk, wait_queue.path()};
  EXPECT_THROW(run(lock_and_throw(m)), std::runtime_error);
  EXPECT_TRUE(wait_queue.wait_for(0));
}

// The handler's execution context is destroyed without running the handler.
TEST_F(guard, releases_if_the_handler_is_never_called) {
  mutex m{zk, wait_queue.path()}, same{other, wait_queue.path()};
  {
    asio::io_context never_run;
    m.async_scoped_lock(asio::bind_executor(
        never_run, [](error_code, scoped_hold) { ADD_FAILURE() << "the handler was called"; }));
    ASSERT_TRUE(wait_queue.wait_for(1));
    EXPECT_FALSE(same.try_lock());
    // The handler must be queued in its context before the context is destroyed. The client
    // completes calls in order, so the handler is queued when a later call has completed.
    while (!m.held()) zk.exists(wait_queue.path());
    zk.exists(wait_queue.path());
  }
  EXPECT_TRUE(same.try_lock_for(wait_limit));
}

// Cancelled during the grant: either nothing is held, or the guard owns the hold.
TEST_F(guard, leaks_no_hold_when_it_is_cancelled) {
  mutex m{zk, wait_queue.path()}, same{other, wait_queue.path()};
  for (int i = 0; i < 50; ++i) {
    same.lock();
    asio::cancellation_signal cancel;
    inbox<bool> ended, emitted;
    m.async_scoped_lock(asio::bind_cancellation_slot(
        cancel.slot(), [&](error_code ec, scoped_hold held) { ended.put(!ec && held); }));
    ASSERT_TRUE(wait_queue.wait_for(2));
    same.unlock();
    // The cancellation signal is not thread-safe, so it is emitted in the thread of the handler.
    asio::post(zk.get_executor(), [&] {
      cancel.emit(asio::cancellation_type::terminal);
      emitted.put(true);
    });
    ASSERT_TRUE(emitted.take());
    ASSERT_TRUE(ended.take());
    ASSERT_TRUE(wait_queue.wait_for(0)) << i;
  }
}

asio::awaitable<void> first_of_two(mutex& m, bool& timer_won) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer soon{co_await asio::this_coro::executor, 1ms};
  auto either = co_await (m.async_scoped_lock(use_awaitable) || soon.async_wait(use_awaitable));
  timer_won = either.index() == 1;
}

// The lock is released, whichever operation completes first.
TEST_F(guard, leaks_no_hold_in_parallel_with_another_operation) {
  mutex m{zk, wait_queue.path()}, same{other, wait_queue.path()};
  bool timer_won = false;
  {
    const std::scoped_lock held{same};
    run(first_of_two(m, timer_won));
    EXPECT_TRUE(timer_won);
  }
  run(first_of_two(m, timer_won));
  EXPECT_TRUE(wait_queue.wait_for(0));
}

TEST_F(guard, may_outlive_its_lock_and_be_moved) {
  scoped_hold kept;
  {
    mutex m{zk, wait_queue.path()};
    kept = m.async_scoped_lock(asio::use_future).get();
    auto moved = std::move(kept);
    kept = std::move(moved);
    EXPECT_FALSE(moved);  // NOLINT: checks the state after the move
    EXPECT_TRUE(kept.held());
  }
  EXPECT_TRUE(kept);
  EXPECT_FALSE(kept.held());
  EXPECT_TRUE(wait_queue.wait_for(0));
  kept.unlock();
  EXPECT_FALSE(kept);
}

TEST_F(guard, can_hold_a_permit) {
  semaphore slots{zk, wait_queue.path() + "/slots", 2};
  auto one = slots.scoped_acquire();
  {
    const auto two = slots.try_scoped_acquire();
    EXPECT_TRUE(two);
    EXPECT_NE(one.fencing_token(), two.fencing_token());
    EXPECT_FALSE(slots.try_scoped_acquire());
  }
  // The guard released its own permit and not the older one.
  EXPECT_TRUE(one.held());
  const auto two = slots.async_scoped_acquire(asio::use_future).get();
  EXPECT_TRUE(two.held());
  one.unlock();
  EXPECT_TRUE(slots.try_scoped_acquire_for(wait_limit));
}

TEST_F(guard, can_be_downgraded) {
  shared_mutex m{zk, wait_queue.path()}, theirs{other, wait_queue.path()};
  {
    auto held = m.scoped_lock();
    const auto token = held.fencing_token();
    EXPECT_FALSE(theirs.try_lock_shared());
    held.downgrade();
    EXPECT_EQ(held.fencing_token(), token);
    EXPECT_TRUE(held.held());
    const auto together = theirs.scoped_lock_shared();
    EXPECT_TRUE(together.held());
    shared_mutex writer{other, wait_queue.path()};
    EXPECT_FALSE(writer.try_lock()) << "two readers are there";
  }
  EXPECT_TRUE(wait_queue.wait_for(0));
  auto held = m.async_scoped_lock(asio::use_future).get();
  held.async_downgrade(asio::use_future).get();
  const auto together = theirs.async_scoped_lock_shared(asio::use_future).get();
  EXPECT_TRUE(together.held() && held.held());
  held.unlock();
  EXPECT_EQ(code_of([&] { held.downgrade(); }), errc::lock_lost);
}

// --- on_acquired and on_released

struct listener {
  inbox<std::string> events;
  lock_options report() {
    lock_options o;
    o.on_acquired = [this](const hold& h) {
      EXPECT_TRUE(h.held());
      events.put("acquired");
    };
    o.on_released = [this](const hold& h) {
      EXPECT_FALSE(h.held());
      EXPECT_FALSE(h.lost().stop_requested());
      events.put("released");
    };
    o.on_lost = [this](const hold&, error_code) { events.put("lost"); };
    return o;
  }
  // The callbacks until now.
  std::string all() {
    std::string text;
    while (const auto e = events.take(0s)) text += *e + ' ';
    return text;
  }
};

TEST_F(guard, callbacks_report_every_acquisition_and_its_end) {
  listener callbacks;
  {
    mutex m{zk, wait_queue.path(), callbacks.report()}, same{other, wait_queue.path()};
    m.lock();
    EXPECT_EQ(callbacks.all(), "acquired ");
    m.unlock();
    EXPECT_EQ(callbacks.all(), "released ");
    m.unlock();
    same.lock();
    EXPECT_FALSE(m.try_lock_for(1ms));
    EXPECT_EQ(callbacks.all(), "") << "nothing was held";
    same.unlock();
    static_cast<void>(m.async_scoped_lock(asio::use_future).get());
    EXPECT_EQ(callbacks.all(), "acquired released ");
    m.lock();
    wait_queue.zk().remove(m.hold().node());
    EXPECT_EQ(callbacks.events.take(), "acquired");
    EXPECT_EQ(callbacks.events.take(), "lost");
    m.unlock();
    EXPECT_EQ(callbacks.all(), "") << "it was lost before";
    m.lock();
  }
  EXPECT_EQ(callbacks.all(), "acquired released ") << "by the destructor";
}

TEST_F(guard, callbacks_report_the_end_if_one_of_them_destroys_the_lock) {
  listener callbacks;
  std::unique_ptr<mutex> m;
  auto o = callbacks.report();
  o.on_acquired = [&](const hold&) {
    m.reset();
    callbacks.events.put("destroyed");
  };
  m = std::make_unique<mutex>(zk, wait_queue.path(), o);
  m->async_lock(asio::use_future).get();
  EXPECT_EQ(callbacks.all(), "released destroyed ");
  EXPECT_TRUE(wait_queue.wait_for(0));
}

TEST_F(guard, callbacks_report_the_end_if_the_lock_is_destroyed_while_one_of_them_runs) {
  listener callbacks;
  std::promise<void> go_on;
  auto o = callbacks.report();
  o.on_acquired = [&](const hold&) {
    callbacks.events.put("acquired");
    go_on.get_future().wait();
  };
  auto m = std::make_unique<mutex>(zk, wait_queue.path(), o);
  auto locked = m->async_lock(asio::use_future);
  EXPECT_EQ(callbacks.events.take(), "acquired");
  std::string seen;
  auto destroyed = run_async([&] {
    m.reset();
    seen = callbacks.all();
  });
  // The I/O thread is inside the callback, so nothing shows when the destructor waits for it.
  EXPECT_FALSE(ready(destroyed, 50ms));
  go_on.set_value();
  destroyed.get();
  EXPECT_EQ(seen, "released ");
  locked.get();
}

}  // namespace
}  // namespace conclave::testing
