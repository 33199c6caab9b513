// Every call on a closed client fails with errc::closed. No call blocks or reports a busy lock.
#include <functional>
#include <memory>

#include <boost/asio/use_future.hpp>

#include "conclave/election.hpp"
#include "conclave/multi_mutex.hpp"
#include "conclave/named_mutex.hpp"
#include "conclave/queue.hpp"
#include "conclave/recursive_mutex.hpp"
#include "conclave/semaphore.hpp"
#include "conclave/shared_mutex.hpp"
#include "locks/lock_observer.hpp"

namespace conclave::testing {
namespace {

using boost::asio::use_future;

// Returns the error code that a future or a blocking call throws.
error_code refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const error& e) {
    return e.code();
  } catch (const boost::system::system_error& e) {
    return e.code();
  }
  return {};
}

void expect_closed(const std::vector<std::function<void()>>& calls) {
  for (std::size_t i = 0; i < calls.size(); ++i)
    EXPECT_EQ(refusal(calls[i]), errc::closed) << "call " << i;
}

template <class Lock>
std::vector<std::function<void()>> calls_of(Lock& m) {
  std::stop_source never;
  return {[&m] { m.lock(); },
          [&m, never] { static_cast<void>(m.lock(never.get_token())); },
          [&m] { static_cast<void>(m.try_lock()); },
          [&m] { static_cast<void>(m.try_lock_for(wait_limit)); },
          [&m] { m.async_lock(use_future).get(); },
          [&m] { m.async_try_lock_for(0s, use_future).get(); },
          [&m] { m.async_try_lock_for(wait_limit, use_future).get(); },
          [&m] { static_cast<void>(m.async_scoped_lock(use_future).get()); }};
}

std::vector<std::function<void()>> shared_calls_of(shared_mutex& m) {
  return {[&m] { m.lock_shared(); },
          [&m] { static_cast<void>(m.try_lock_shared()); },
          [&m] { static_cast<void>(m.try_lock_shared_for(wait_limit)); },
          [&m] { m.async_lock_shared(use_future).get(); },
          [&m] { m.downgrade(); },
          [&m] { static_cast<void>(m.scoped_lock()); }};
}

std::vector<std::function<void()>> calls_of(semaphore& s) {
  return {[&s] { s.acquire(); }, [&s] { static_cast<void>(s.try_acquire()); },
          [&s] { static_cast<void>(s.try_acquire_for(wait_limit)); },
          [&s] { s.async_acquire(use_future).get(); },
          [&s] { static_cast<void>(s.scoped_acquire()); }};
}

std::vector<std::function<void()>> calls_of(election& e) {
  return {[&e] { e.campaign(); },
          [&e] { static_cast<void>(e.campaign_for(wait_limit)); },
          [&e] { e.async_campaign(use_future).get(); },
          [&e] { e.run_as_leader([](std::stop_token) {}); },
          [&e] { e.leader(); },
          [&e] { e.candidates(); }};
}

class closed_client : public ::testing::Test {
 protected:
  lock_observer wait_queue{"closed"};
  client zk{shared_server().connect_string()};
};

TEST_F(closed_client, refuses_locks_that_were_held) {
  mutex m{zk, wait_queue.path() + "/m"};
  multi_mutex both{zk, {wait_queue.path() + "/a", wait_queue.path() + "/b"}};
  named_mutex named{zk, wait_queue.path() + "/n"};
  recursive_mutex again{zk, wait_queue.path() + "/r"};
  shared_mutex writing{zk, wait_queue.path() + "/w"}, reading{zk, wait_queue.path() + "/s"};
  semaphore slots{zk, wait_queue.path() + "/p", 1};
  election e{zk, wait_queue.path() + "/e"};
  m.lock();
  both.lock();
  named.lock();
  again.lock();
  writing.lock();
  reading.lock_shared();
  slots.acquire();
  e.campaign();
  zk.close();
  expect_closed(calls_of(m));
  expect_closed(calls_of(both));
  expect_closed(calls_of(named));
  expect_closed({[&] { again.lock(); }, [&] { static_cast<void>(again.try_lock()); }});
  expect_closed(calls_of(writing));
  expect_closed(shared_calls_of(writing));
  expect_closed(calls_of(reading));
  expect_closed(calls_of(slots));
  expect_closed(calls_of(e));
}

TEST_F(closed_client, refuses_free_locks) {
  mutex m{zk, wait_queue.path() + "/m"};
  shared_mutex s{zk, wait_queue.path() + "/s"};
  semaphore slots{zk, wait_queue.path() + "/p", 1};
  election e{zk, wait_queue.path() + "/e"};
  zk.close();
  expect_closed(calls_of(m));
  expect_closed(calls_of(s));
  expect_closed(calls_of(slots));
  expect_closed(calls_of(e));
}

// One call waits for an unlock() in the same object, one for another client.
TEST_F(closed_client, aborts_waiting_calls) {
  client other{shared_server().connect_string()};
  mutex theirs{other, wait_queue.path() + "/theirs"}, m{zk, wait_queue.path()},
      n{zk, wait_queue.path() + "/theirs"};
  theirs.lock();
  m.lock();
  inbox<error_code> ended;
  m.async_lock([&](error_code ec) { ended.put(ec); });
  m.async_try_lock_for(wait_limit, [&](error_code ec, bool got) {
    EXPECT_FALSE(got);
    ended.put(ec);
  });
  n.async_lock([&](error_code ec) { ended.put(ec); });
  zk.close();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ended.take(), error_code{errc::closed});
}

// The lock was lost earlier, and its owner has not unlocked it.
TEST_F(closed_client, aborts_calls_that_wait_for_the_unlock_of_a_lost_lock) {
  inbox<error_code> lost, ended;
  lock_options o;
  o.on_lost = [&](const hold&, error_code why) { lost.put(why); };
  mutex m{zk, wait_queue.path(), o};
  m.lock();
  wait_queue.zk().remove(m.hold().node());
  ASSERT_EQ(lost.take(), error_code{errc::node_deleted});
  m.async_lock([&](error_code ec) { ended.put(ec); });
  zk.close();
  EXPECT_EQ(ended.take(), error_code{errc::closed});
  m.unlock();
}

TEST_F(closed_client, refuses_queues) {
  queue q{zk, wait_queue.path() + "/q"};
  q.push("item");
  queue_claim claimed = q.claim();
  inbox<error_code> ended;
  queue empty{zk, wait_queue.path() + "/empty"};
  empty.async_pop([&](error_code ec, std::optional<queue_item>) { ended.put(ec); });
  empty.async_claim([&](error_code ec, std::optional<queue_claim>) { ended.put(ec); });
  zk.close();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ended.take(), error_code{errc::closed});
  std::stop_source never;
  expect_closed({[&] { q.push("x"); }, [&] { (void)q.try_push("x"); }, [&] { q.pop(); },
                 [&] { (void)q.try_pop(); }, [&] { q.pop(never.get_token()); }, [&] { q.claim(); },
                 [&] { (void)q.try_claim(); }, [&] { q.front(); }, [&] { q.size(); },
                 [&] { q.names(); }, [&] { q.set_aside(); }});
  EXPECT_EQ(refusal([&] { claimed.complete(); }), condition::lock_lost);
}

// --- why a lock was lost

TEST(loss, has_a_reason) {
  lock_observer wait_queue{"loss"};
  client zk{shared_server().connect_string()}, closing{shared_server().connect_string()};
  inbox<error_code> why;
  lock_options o;
  o.on_lost = [&](const hold& h, error_code ec) {
    EXPECT_EQ(h.why_lost(), ec);
    EXPECT_EQ(ec, condition::lock_lost);
    why.put(ec);
  };
  mutex a{zk, wait_queue.path() + "/a", o}, b{closing, wait_queue.path() + "/b", o};
  a.lock();
  EXPECT_EQ(a.hold().why_lost(), error_code{});
  wait_queue.zk().remove(a.hold().node());
  EXPECT_EQ(why.take(), error_code{errc::node_deleted});
  EXPECT_EQ(a.hold().why_lost(), errc::node_deleted);
  a.unlock();
  a.lock();
  a.unlock();
  EXPECT_EQ(a.hold().why_lost(), error_code{}) << "it was released";
  b.lock();
  closing.close();
  EXPECT_EQ(why.take(), error_code{errc::closed});
  EXPECT_EQ(b.hold().why_lost(), errc::closed);
}

TEST(lock_message, does_not_list_thousands_of_paths) {
  client zk{shared_server().connect_string()};
  std::vector<std::string> paths;
  for (int i = 0; i < 12'000; ++i) paths.push_back("/many/" + std::to_string(100'000 + i));
  multi_mutex all{zk, std::move(paths)};
  zk.close();
  try {
    all.lock();
    ADD_FAILURE() << "it was granted";
  } catch (const error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("/many/100000, /many/100001, "), std::string::npos) << text;
    EXPECT_NE(text.find(" and 11995 more"), std::string::npos) << text;
    EXPECT_LT(text.size(), 200u);
  }
}

}  // namespace
}  // namespace conclave::testing
