// A holder is killed, and a waiter of another library gets the lock when the holder's session ends.
#include <algorithm>
#include <ostream>
#include <string>

#include "fixture.hpp"

namespace conclave::testing {
namespace {

struct pairing {
  library peer;
  std::string held;
  std::string wanted;
};

void PrintTo(const pairing& p, std::ostream* out) {
  *out << name_of(p.peer) << ": " << p.held << ", " << p.wanted;
}

class killed_holder : public lock_interop_test, public ::testing::WithParamInterface<pairing> {
 protected:
  contest holder(const std::string& path) const {
    contest c;
    c.path = path;
    c.layout_name = name_of(GetParam().peer);
    c.kinds = GetParam().held;
    c.hold = "forever";
    c.session_timeout = 2s;  // short, because it must expire
    return c;
  }

  contest waiter(const std::string& path) const {
    auto c = holder(path);
    c.kinds = GetParam().wanted;
    c.hold = "0";
    c.session_timeout = 20s;
    return c;
  }

  // Contenders that hold a permit have left the wait queue of the semaphore.
  void wait_for_waiter(const std::string& path) {
    if (is_semaphore())
      wait_for_contenders(path + "/locks", 1);
    else
      wait_for_contenders(path, 2);
  }

  void expect_empty(const std::string& path) {
    const auto descendants = zk.count_descendants(path);
    EXPECT_EQ(descendants, is_semaphore() ? 2 : 0) << path;  // locks and leases
  }

  bool is_semaphore() const { return GetParam().held.starts_with("semaphore"); }
};

std::string name_of_pairing(const ::testing::TestParamInfo<pairing>& i) {
  auto name = name_of(i.param.peer) + ('_' + i.param.held + '_' + i.param.wanted);
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(peers, killed_holder,
                         ::testing::Values(pairing{library::curator, "mutex", "mutex"},
                                           pairing{library::zookeeper, "mutex", "mutex"},
                                           pairing{library::kazoo, "mutex", "mutex"},
                                           pairing{library::curator, "write", "read"},
                                           pairing{library::kazoo, "read", "write"},
                                           pairing{library::curator, "semaphore:1", "semaphore:1"}),
                         name_of_pairing);

// Both directions at the same time, on two paths, because the test mostly waits for expiry.
TEST_P(killed_holder, is_followed_by_a_waiter_of_another_library) {
  const auto peer = GetParam().peer;
  const auto theirs = fresh_node(zk, "held-by-them");
  const auto ours = fresh_node(zk, "held-by-us");
  contender_process their_holder{peer, holder(theirs)};
  contender_process our_holder{library::conclave, holder(ours)};
  ASSERT_TRUE(our_holder.acquired());
  contender_process their_waiter{peer, waiter(ours)};
  ASSERT_TRUE(their_holder.acquired());
  contender_process our_waiter{library::conclave, waiter(theirs)};
  wait_for_waiter(theirs);
  wait_for_waiter(ours);
  EXPECT_FALSE(our_waiter.reported());
  EXPECT_FALSE(their_waiter.reported());

  const auto theirs_killed_at = their_holder.kill();
  const auto ours_killed_at = our_holder.kill();
  const auto we_got_it = our_waiter.acquired();
  const auto they_got_it = their_waiter.acquired();
  ASSERT_TRUE(we_got_it && they_got_it);
  EXPECT_GT(*we_got_it, theirs_killed_at);
  EXPECT_GT(*they_got_it, ours_killed_at);
  our_waiter.finish();
  their_waiter.finish();
  expect_empty(theirs);
  expect_empty(ours);
}

}  // namespace
}  // namespace conclave::testing
