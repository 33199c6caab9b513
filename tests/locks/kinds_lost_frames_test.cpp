// A connection that is lost after every frame, in each direction, for every kind of lock except the
// mutex (lost_frames_test.cpp). Sessions outlive the tests, so that an orphan stays visible.
#include <string>
#include <vector>

#include "conclave/multi_mutex.hpp"
#include "conclave/named_mutex.hpp"
#include "conclave/recursive_mutex.hpp"
#include "conclave/semaphore.hpp"
#include "conclave/shared_mutex.hpp"
#include "integration/healed_link.hpp"
#include "locks/lock_observer.hpp"
#include "locks/wait_for_children.hpp"

namespace conclave::testing {
namespace {

class kinds_lost_frames : public ::testing::TestWithParam<const char*> {
 protected:
  // One holds, the other waits and is granted.
  template <class Lock>
  void hand_over(Lock& a, Lock& b, const std::string& lined_up) {
    ASSERT_TRUE(a.try_lock_for(wait_limit)) << "the first is not granted";
    auto waiting = run_async([&] { return b.try_lock_for(wait_limit); });
    if (!lined_up.empty()) wait_for_children(witness, lined_up, 2);
    a.unlock();
    ASSERT_TRUE(waiting.get()) << "the second is not granted";
    b.unlock();
  }

  void recursive() {
    recursive_mutex a{first, path};
    recursive_mutex b{second, path};
    ASSERT_TRUE(a.try_lock_for(wait_limit)) << "the first is not granted";
    ASSERT_TRUE(a.try_lock_for(wait_limit)) << "nor again";
    auto waiting = run_async([&] {
      const bool locked = b.try_lock_for(wait_limit);
      b.unlock();  // in the thread that locked
      return locked;
    });
    wait_for_children(witness, path, 2);
    a.unlock();
    EXPECT_TRUE(a.held());
    a.unlock();
    ASSERT_TRUE(waiting.get()) << "the second is not granted";
    expect_empty({path});
  }
  void shared() {
    shared_mutex a{first, path};
    shared_mutex b{second, path};
    shared_mutex c{first, path};
    ASSERT_TRUE(a.try_lock_for(wait_limit));
    auto reading = run_async([&] { return b.try_lock_shared_for(wait_limit); });
    wait_for_children(witness, path, 2);
    auto writing = run_async([&] { return c.try_lock_for(wait_limit); });
    wait_for_children(witness, path, 3);
    a.downgrade();
    ASSERT_TRUE(reading.get()) << "the reader is not granted";
    EXPECT_TRUE(a.shared_hold().held());
    EXPECT_FALSE(c.hold().held()) << "a writer beside readers";
    a.unlock_shared();
    b.unlock_shared();
    ASSERT_TRUE(writing.get()) << "the writer is not granted";
    c.unlock();
    expect_empty({path});
  }
  void permits() {
    semaphore a{first, path, 1};
    semaphore b{second, path, 1};
    ASSERT_TRUE(a.try_acquire_for(wait_limit));
    auto waiting = run_async([&] { return b.try_acquire_for(wait_limit); });
    wait_for_children(witness, path + "/leases", 2);
    a.release();
    ASSERT_TRUE(waiting.get()) << "the second is not granted";
    b.release();
    expect_empty({path + "/leases", path + "/locks"});
  }
  void several() {
    multi_mutex a{first, {path + "/x", path + "/y"}};
    multi_mutex b{second, {path + "/y", path + "/z"}};
    hand_over(a, b, path + "/y");
    expect_empty({path + "/x", path + "/y", path + "/z"});
  }
  void named() {
    named_mutex a{first, path + "/name"};
    named_mutex b{second, path + "/name"};
    hand_over(a, b, {});
    expect_empty({path});
  }

  void expect_empty(const std::vector<std::string>& parents) {
    for (const auto& p : parents) wait_for_children(witness, p, 0);
  }

  void go_through() {
    const std::string kind = GetParam();
    if (kind == "recursive_mutex") recursive();
    if (kind == "shared_mutex") shared();
    if (kind == "semaphore") permits();
    if (kind == "multi_mutex") several();
    if (kind == "named_mutex") named();
  }

  template <class Arm>
  void at_every_frame(Arm arm) {
    go_through();
    testing::at_every_frame(proxy, 3, arm, [this] { go_through(); });
  }

  link_proxy proxy{shared_server().port()};
  client witness{shared_server().connect_string()};
  std::string path = fresh_node(witness, "kinds-lost");
  client first{proxy.connect_string(), healed_at_once(proxy)};
  client second{proxy.connect_string(), healed_at_once(proxy)};
};
INSTANTIATE_TEST_SUITE_P(of, kinds_lost_frames,
                         ::testing::Values("recursive_mutex", "shared_mutex", "semaphore",
                                           "multi_mutex", "named_mutex"),
                         [](const auto& i) { return std::string{i.param}; });

TEST_P(kinds_lost_frames, after_every_request) {
  at_every_frame([this](std::size_t n) { proxy.disconnect_after_client_frames(n); });
}

TEST_P(kinds_lost_frames, after_every_reply) {
  at_every_frame([this](std::size_t n) { proxy.disconnect_after_server_frames(n); });
}

}  // namespace
}  // namespace conclave::testing
