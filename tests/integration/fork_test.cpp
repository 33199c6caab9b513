// A child process does not affect its parent's session.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "conclave/contenders.hpp"
#include "conclave/election.hpp"
#include "conclave/mutex.hpp"
#include "conclave/queue.hpp"
#include "integration/harness.hpp"

namespace conclave::testing {
namespace {

// Runs f in a child process and returns its exit code, which is the result of f.
template <class F>
int in_child(F f) {
  const auto pid = ::fork();
  if (pid == 0) ::_exit(f());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

class forking : public ::testing::Test {
 protected:
  std::unique_ptr<client> zk = std::make_unique<client>(shared_server().connect_string());
  std::string root = fresh_node(*zk, "fork");

  void expect_unharmed(std::int64_t session) {
    EXPECT_EQ(zk->session_id(), session);
    EXPECT_EQ(zk->state(), session_state::connected);
    zk->sync();
    zk->set(root, "still here");
    EXPECT_EQ(zk->session_id(), session);
  }
};

TEST_F(forking, the_childs_destructor_does_not_close_the_parents_session) {
  const auto session = zk->session_id();
  EXPECT_EQ(in_child([&] {
              zk.reset();
              return 7;
            }),
            7);
  expect_unharmed(session);
}

// During the fork, another thread often holds the mutex of the recipes, or changes their data.
TEST_F(forking, destructors_of_recipes_in_the_child_return_while_other_threads_use_the_session) {
  auto claimed = std::make_unique<queue>(*zk, root + "/claimed");
  claimed->push("item");
  auto claim = std::make_unique<queue_claim>(claimed->claim());
  auto popped = std::make_unique<queue>(*zk, root + "/popped");
  EXPECT_FALSE(popped->pop_for(10ms));  // its consumer stays in the wait queue
  auto m = std::make_unique<mutex>(*zk, root + "/held");
  m->lock();
  auto e = std::make_unique<election>(*zk, root + "/election");
  e->campaign();
  auto o = std::make_unique<election_observer>(*zk, root + "/election", [](const auto&) {});
  std::atomic<bool> stop{false};
  std::vector<std::jthread> busy;
  for (int i = 0; i < 2; ++i)
    busy.emplace_back([&, i] {
      mutex used{*zk, root + "/used" + std::to_string(i)};
      while (!stop) {
        used.lock();
        used.unlock();
      }
    });
  const auto session = zk->session_id();
  for (int i = 0; i < 30; ++i)
    EXPECT_EQ(in_child([&] {
                ::alarm(20);
                claim.reset();
                claimed.reset();
                popped.reset();
                m.reset();
                e.reset();
                o.reset();
                zk.reset();
                return 7;
              }),
              7);
  stop = true;
  busy.clear();
  expect_unharmed(session);
  EXPECT_TRUE(m->held());
  EXPECT_TRUE(claim->hold().held());
  claim->complete();
}

TEST_F(forking, calls_in_the_child_are_refused) {
  const auto session = zk->session_id();
  EXPECT_EQ(
      in_child([&] { return code_of([&] { zk->set(root, "child"); }) == errc::forked ? 7 : 8; }),
      7);
  EXPECT_EQ(in_child([&] {
              zk->close();
              return 7;
            }),
            7);
  expect_unharmed(session);
}

TEST_F(forking, a_child_that_exits_normally_does_not_affect_the_parent) {
  const auto session = zk->session_id();
  EXPECT_EQ(in_child([&]() -> int {
              static std::unique_ptr<client> destroyed_at_exit;
              destroyed_at_exit = std::move(zk);
              std::_Exit(7);
            }),
            7);
  expect_unharmed(session);
}

TEST_F(forking, a_program_started_by_the_parent_does_not_inherit_the_connection) {
  ASSERT_TRUE(zk->exists("/"));
  EXPECT_EQ(in_child([&]() -> int {
              // The connection would be a descriptor of type socket above the standard three.
              ::execl("/bin/sh", "sh", "-c",
                      "for f in /proc/self/fd/*; do case $(readlink $f) in socket:*) exit 8;; "
                      "esac; done; exit 7",
                      static_cast<char*>(nullptr));
              return 9;
            }),
            7);
}

TEST_F(forking, getters_in_the_child_do_not_use_locks_of_the_parent) {
  EXPECT_EQ(in_child([&] {
              const bool dead = zk->state() == session_state::closed && zk->session_id() == 0 &&
                                zk->session_deadline() < boot_clock::now();
              auto ignored = zk->on_session_event([](const session_event&) {});
              return dead ? 7 : 8;
            }),
            7);
}

TEST_F(forking, a_child_forked_by_a_handler_ends_when_the_handler_returns) {
  const auto session = zk->session_id();
  inbox<pid_t> children;
  zk->async_get(root, [&](error_code, get_result) {
    const auto pid = ::fork();
    if (pid != 0) children.put(pid);
  });
  const auto child = children.take();
  ASSERT_TRUE(child);
  int status = 0;
  ::waitpid(*child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 127);
  expect_unharmed(session);
}

TEST_F(forking, asynchronous_calls_in_the_child_complete) {
  EXPECT_EQ(in_child([&] {
              error_code got;
              error_code closed;
              zk->async_get(root, [&](error_code ec, get_result) { got = ec; });
              zk->async_close([&](error_code ec) { closed = ec; });
              return got == errc::forked && closed == errc::forked ? 7 : 8;
            }),
            7);
}

TEST_F(forking, locks_queues_and_elections_refuse_all_calls_in_the_child) {
  mutex lock{*zk, root + "/lock"};
  queue jobs{*zk, root + "/jobs"};
  election leader{*zk, root + "/election"};
  lock.lock();
  EXPECT_EQ(in_child([&] {
              const auto refuses = [](auto call) { return code_of(call) == errc::forked; };
              return refuses([&] { lock.lock(); }) &&
                             refuses([&] { return lock.try_lock_for(1s); }) &&
                             refuses([&] { jobs.push("a"); }) && refuses([&] { jobs.pop(); }) &&
                             refuses([&] { jobs.pop_for(1s); }) &&
                             refuses([&] { leader.campaign(); }) &&
                             refuses([&] { contenders(*zk, root + "/lock"); })
                         ? 7
                         : 8;
            }),
            7);
  EXPECT_EQ(in_child([&] {
              int refused = 0;
              const auto count = [&](error_code ec, auto...) { refused += ec == errc::forked; };
              lock.async_lock(count);
              lock.async_unlock(count);
              jobs.async_pop(count);
              leader.async_resign(count);
              return refused == 4 ? 7 : 8;
            }),
            7);
  EXPECT_EQ(in_child([&] {
              lock.unlock();
              leader.resign();
              return lock.hold().fencing_token() == 0 ? 7 : 8;
            }),
            7);
  EXPECT_TRUE(lock.held());
  EXPECT_EQ(contenders(*zk, root + "/lock").size(), 1u);
}

// TSan cannot follow threads that a child of a threaded process starts.
#if !defined(__SANITIZE_THREAD__)

TEST_F(forking, a_child_can_have_its_own_client) {
  const auto session = zk->session_id();
  EXPECT_EQ(in_child([&] {
              client own{shared_server().connect_string()};
              own.set(root, "from the child");
              return own.get(root).data == "from the child" ? 7 : 8;
            }),
            7);
  EXPECT_EQ(zk->get(root).data, "from the child");
  expect_unharmed(session);
}

TEST_F(forking, a_process_out_of_descriptors_keeps_trying) {
  EXPECT_EQ(in_child([&] {
              inbox<unsigned> tries;
              client_options options;
              options.reconnect = [&](unsigned n) {
                tries.put(n);
                return 0ms;
              };
              context shared;
              const rlimit none{0, 0};
              ::setrlimit(RLIMIT_NOFILE, &none);
              client own{shared, shared_server().connect_string(), options};
              for (int i = 0; i < 20'000; ++i)
                if (!tries.take()) return 8;
              return 7;
            }),
            7);
}

#endif

}  // namespace
}  // namespace conclave::testing
