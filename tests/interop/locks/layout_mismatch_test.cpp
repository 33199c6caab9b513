// A lock path has one layout. Contenders of another layout ignore conclave's nodes, so conclave
// must detect theirs.
#include <string>
#include <vector>

#include "conclave/mutex.hpp"
#include "conclave/shared_mutex.hpp"
#include "fixture.hpp"

namespace conclave::testing {
namespace {

class other_layout : public with_a_peer {
 protected:
  lock_options options_for(const layout& l) {
    lock_options options;
    options.layout = l;
    return options;
  }

  void expect_mutex_refused(const std::string& path, const layout& l) {
    auto options = options_for(l);
    for (const bool tickets : {true, false}) {
      options.tickets = tickets;
      mutex m{zk, path, options};
      EXPECT_EQ(code_of([&] { m.lock(); }), errc::layout_mismatch);
      EXPECT_EQ(code_of([&] { return m.try_lock(); }), errc::layout_mismatch);
      EXPECT_EQ(code_of([&] { return m.try_lock_for(10s); }), errc::layout_mismatch);
      EXPECT_FALSE(m.held());
    }
  }

  void expect_shared_mutex_refused(const std::string& path, const layout& l) {
    shared_mutex m{zk, path, options_for(l)};
    EXPECT_EQ(code_of([&] { m.lock(); }), errc::layout_mismatch);
    EXPECT_EQ(code_of([&] { m.lock_shared(); }), errc::layout_mismatch);
    EXPECT_EQ(code_of([&] { return m.try_lock(); }), errc::layout_mismatch);
    EXPECT_EQ(code_of([&] { return m.try_lock_shared(); }), errc::layout_mismatch);
    EXPECT_FALSE(m.hold().held() || m.shared_hold().held());
  }

  void expect_only_the_peer(const std::string& path) {
    zk.sync(path);
    EXPECT_EQ(zk.children(path).names.size(), 1u) << "something of the refused ones is left";
  }

  contest held_for_good(const std::string& path, const std::string& kind = "mutex") {
    contest c;
    c.path = path;
    c.layout_name = name_of(GetParam());
    c.kinds = kind;
    c.hold = "forever";
    return c;
  }
};
INSTANTIATE_TEST_SUITE_P(peers, other_layout,
                         ::testing::Values(library::curator, library::zookeeper, library::kazoo),
                         name_of_param);

TEST_P(other_layout, is_refused) {
  const auto path = fresh_node(zk, "layout");
  contender_process peer{GetParam(), held_for_good(path)};
  ASSERT_TRUE(peer.acquired());
  for (const auto l : {library::curator, library::zookeeper, library::kazoo}) {
    if (l == GetParam()) continue;
    expect_mutex_refused(path, layout_of(l));
    expect_shared_mutex_refused(path, layout_of(l));
  }
  expect_only_the_peer(path);
}

// The peer ignores the conclave holder and acquires the lock too. This cannot be prevented, but the
// next conclave contender detects it, although its predecessor has its own layout.
TEST_P(other_layout, is_detected_after_a_conclave_holder) {
  const auto path = fresh_node(zk, "layout");
  const auto l = GetParam() == library::kazoo ? layout::curator() : layout::kazoo();
  mutex ours{zk, path, options_for(l)};
  ours.lock();
  contender_process peer{GetParam(), held_for_good(path)};
  wait_for_contenders(path, 2);
  ours.unlock();
  wait_for_contenders(path, 1);
  expect_mutex_refused(path, l);
  expect_only_the_peer(path);
}

using other_kind = other_layout;
INSTANTIATE_TEST_SUITE_P(peers, other_kind, ::testing::Values(library::curator), name_of_param);

// Readers and mutexes of this library ignore each other.
TEST_P(other_kind, is_refused) {
  const auto read = fresh_node(zk, "kind");
  contender_process reader{GetParam(), held_for_good(read, "read")};
  ASSERT_TRUE(reader.acquired());
  expect_mutex_refused(read, layout_of(GetParam()));
  expect_only_the_peer(read);
}

using one_wait_queue = other_layout;
INSTANTIATE_TEST_SUITE_P(peers, one_wait_queue, ::testing::Values(library::kazoo), name_of_param);

// The library's readers see mutexes, and conclave's mutexes see these readers.
TEST_P(one_wait_queue, has_mutexes_and_readers) {
  const auto path = fresh_node(zk, "kind");
  contender_process reader{GetParam(), held_for_good(path, "read")};
  ASSERT_TRUE(reader.acquired());
  mutex ours{zk, path, options_for(layout::kazoo())};
  EXPECT_FALSE(ours.try_lock());
  EXPECT_FALSE(ours.try_lock_for(100ms));
  expect_only_the_peer(path);
}

}  // namespace
}  // namespace conclave::testing
