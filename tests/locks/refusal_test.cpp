// Calls that are refused: on the I/O thread, without a server, with a closed client, in a forked
// child.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <vector>

#include <boost/asio/use_future.hpp>

#include "conclave/recursive_mutex.hpp"
#include "locks/lock_observer.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

class refusal : public with_and_without_tickets {
 protected:
  lock_observer wait_queue{"refusal"};
};
INSTANTIATE_TEST_SUITE_P(with, refusal, ::testing::Bool(), tickets_name);

TEST_P(refusal, blocking_calls_on_the_io_thread) {
  client zk{shared_server().connect_string()};
  mutex m{zk, wait_queue.path(), options()};
  inbox<error_code> got;
  zk.async_get(wait_queue.path(), [&](error_code, get_result) {
    got.put(code_of([&] { m.lock(); }));
    got.put(code_of([&] { return m.try_lock(); }));
    got.put(code_of([&] { return m.try_lock_for(1s); }));
    std::stop_source stop;
    got.put(code_of([&] { return m.lock(stop.get_token()); }));
  });
  for (int i = 0; i < 4; ++i) EXPECT_EQ(got.take(), error_code{errc::would_deadlock}) << i;
  m.lock();
  zk.async_get(wait_queue.path(), [&](error_code, get_result) {
    m.unlock();  // does not block
    got.put({});
  });
  EXPECT_TRUE(got.take());
  EXPECT_TRUE(wait_queue.wait_for(0));
}

// The client waits for a server that does not answer.
TEST_P(refusal, a_client_that_is_being_closed) {
  link_proxy proxy{shared_server().port()};
  client zk{proxy.connect_string(), with_timeout(60s)};
  mutex m{zk, wait_queue.path(), options()};
  m.lock();
  m.unlock();
  proxy.blackhole(true);
  auto closed = zk.async_close(boost::asio::use_future);
  EXPECT_EQ(code_of([&] { m.lock(); }), errc::closed);
  EXPECT_EQ(closed.wait_for(0s), std::future_status::timeout);
  proxy.disconnect();
  closed.get();
}

TEST_P(refusal, no_server) {
  link_proxy nobody{shared_server().port()};
  nobody.disconnect();
  auto o = with_timeout(30s);
  o.connect_wait = 100ms;
  client zk{nobody.connect_string(), o};
  mutex m{zk, "/locks/invoices", options()};
  const auto complaint = [](auto call) -> std::string {
    try {
      call();
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::not_connected);
      return e.what();
    }
    return "no error";
  };
  for (const auto& what : {complaint([&] { m.lock(); }), complaint([&] { return m.try_lock(); }),
                           complaint([&] { return m.try_lock_for(10s); }),
                           complaint([&] { return m.lock(std::stop_token{}); })})
    for (const auto& part : {std::string{"lock /locks/invoices"}, nobody.connect_string(),
                             std::string{"Connection refused"}})
      EXPECT_NE(what.find(part), what.npos) << what;
  EXPECT_FALSE(m.held());
  m.unlock();
}

TEST_P(refusal, a_client_that_is_closed_while_calls_wait) {
  client holder{shared_server().connect_string()};
  client zk{shared_server().connect_string()};
  mutex held{holder, wait_queue.path(), options()};
  mutex m{zk, wait_queue.path(), options()};
  held.lock();
  // One call waits with its contender, the other waits locally.
  auto waits = run_async([&] { return code_of([&] { m.lock(); }); });
  auto second = run_async([&] { return code_of([&] { return m.try_lock_for(wait_limit); }); });
  ASSERT_TRUE(wait_queue.wait_for(2));
  zk.close();
  ASSERT_TRUE(ready(waits));
  EXPECT_EQ(waits.get(), errc::closed);
  ASSERT_TRUE(ready(second));
  EXPECT_EQ(second.get(), errc::closed);
  EXPECT_TRUE(wait_queue.wait_for(1));
  EXPECT_EQ(code_of([&] { m.lock(); }), errc::closed);
  EXPECT_TRUE(held.held());
}

TEST_P(refusal, a_client_that_is_closed_while_it_holds) {
  client zk{shared_server().connect_string()};
  inbox<error_code> lost;
  auto o = options();
  o.on_lost = [&](const hold&, error_code why) { lost.put(why); };
  mutex m{zk, wait_queue.path(), o};
  m.lock();
  const auto hold = m.hold();
  zk.close();
  EXPECT_TRUE(lost.take());
  EXPECT_TRUE(hold.lost().stop_requested());
  EXPECT_FALSE(hold.held());
  EXPECT_TRUE(wait_queue.wait_for(0));
  m.unlock();
  EXPECT_EQ(lost.size(), 0u) << "reported once";
}

// The objects that a callback uses may be destroyed together with the lock. The thread that closes
// the client is inside a callback of the first lock when it has not run those of the others yet.
TEST_P(refusal, every_callback_runs_before_its_lock_is_destroyed) {
  client zk{shared_server().connect_string()};
  inbox<bool> entered;
  std::promise<void> go_on;
  std::atomic<bool> running{false};
  std::atomic<int> reported{0};
  auto o = options();
  o.on_lost = [&](const hold&, error_code) {
    running = true;
    entered.put(true);
    go_on.get_future().wait();
    running = false;
  };
  auto slow = std::make_unique<mutex>(zk, wait_queue.path(), o);
  slow->lock();
  o.on_lost = [&](const hold&, error_code) { ++reported; };
  std::vector<std::unique_ptr<mutex>> others;
  for (int i = 0; i < 8; ++i) {
    others.push_back(std::make_unique<mutex>(zk, wait_queue.path() + std::to_string(i), o));
    others.back()->lock();
  }
  auto closing = run_async([&] { zk.close(); });
  ASSERT_TRUE(entered.take());
  others.clear();
  EXPECT_EQ(reported, 8) << "every hold was lost";
  auto destroyed = run_async([&] {
    slow.reset();
    return !running;
  });
  EXPECT_FALSE(ready(destroyed, 50ms)) << "must not wait for the running callback";
  go_on.set_value();
  ASSERT_TRUE(ready(destroyed));
  EXPECT_TRUE(destroyed.get());
  closing.get();
  EXPECT_EQ(reported, 8);
}

TEST_P(refusal, a_callback_may_destroy_its_lock) {
  client zk{shared_server().connect_string()};
  inbox<bool> gone;
  std::unique_ptr<mutex> m;
  auto o = options();
  o.on_lost = [&](const hold&, error_code) {
    m.reset();
    gone.put(true);
  };
  m = std::make_unique<mutex>(zk, wait_queue.path(), o);
  m->lock();
  zk.close();
  EXPECT_TRUE(gone.take());
  EXPECT_TRUE(wait_queue.wait_for(0));
}

// A hold must not keep the client alive.
TEST_P(refusal, a_hold_that_outlives_its_client_delays_nothing) {
  hold left;
  std::int64_t token = 0;
  const auto begun = [&] {
    client zk{shared_server().connect_string()};
    mutex m{zk, wait_queue.path(), options()};
    m.lock();
    left = m.hold();
    token = left.fencing_token();
    mutex same{zk, wait_queue.path(), options()};
    EXPECT_FALSE(same.try_lock_for(150ms));  // long enough for the hold to be monitored
    m.unlock();
    EXPECT_TRUE(wait_queue.wait_for(0));
    return now();
  }();
  EXPECT_LT(now() - begun, 1s) << "the destructor of the client was delayed";
  EXPECT_FALSE(left.held());
  EXPECT_EQ(left.remaining(), 0ns);
  EXPECT_EQ(left.fencing_token(), token);
}

TEST_P(refusal, a_client_that_is_destroyed_first) {
  auto zk = std::make_unique<client>(shared_server().connect_string());
  mutex m{*zk, wait_queue.path(), options()};
  m.lock();
  const auto hold = m.hold();
  zk.reset();
  EXPECT_FALSE(hold.held());
  EXPECT_TRUE(hold.lost().stop_requested());
  EXPECT_TRUE(wait_queue.wait_for(0));
  m.unlock();
  EXPECT_EQ(code_of([&] { m.lock(); }), errc::closed);
  EXPECT_EQ(code_of([&] { return m.try_lock_for(1s); }), errc::closed);
}

TEST_P(refusal, a_missing_chroot_is_named) {
  const auto chroot = wait_queue.path() + "/nowhere";
  client zk{shared_server().connect_string() + chroot};
  mutex m{zk, "/lock", options()};
  try {
    m.lock();
    ADD_FAILURE() << "locked";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::no_node);
    EXPECT_NE(std::string{e.what()}.find(chroot), std::string::npos) << e.what();
  }
}

TEST_P(refusal, a_forked_child) {
  client zk{shared_server().connect_string()};
  recursive_mutex again{zk, wait_queue.path() + "-again", options()};
  again.lock();
  auto m = std::make_unique<mutex>(zk, wait_queue.path(), options());
  m->lock();
  const auto hold = m->hold();
  const auto in_child = [](auto f) {
    const auto pid = ::fork();
    if (pid == 0) ::_exit(f());
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
  };
  EXPECT_EQ(in_child([&] {
              if (code_of([&] { m->lock(); }) != errc::forked) return 1;
              if (code_of([&] { return m->try_lock(); }) != errc::forked) return 2;
              if (code_of([&] { return m->try_lock_for(1s); }) != errc::forked) return 3;
              if (m->held() || hold.held()) return 4;
              if (code_of([&] { again.lock(); }) != errc::forked) return 5;
              if (again.held_by_this_thread() || again.hold().fencing_token() != 0) return 6;
              again.unlock();
              m->unlock();
              m.reset();
              return 7;
            }),
            7);
  zk.sync();
  EXPECT_TRUE(m->held());
  EXPECT_FALSE(hold.lost().stop_requested());
  EXPECT_EQ(wait_queue.contenders(), std::vector{name_of(hold.node())});
  m->unlock();
  EXPECT_TRUE(wait_queue.wait_for(0));
}

}  // namespace
}  // namespace conclave::testing
