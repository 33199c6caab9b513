// kazoo's ReadLock. In kazoo 2.8.0 it also waits for writers behind it, which wait for it
// (kazoo#649). So this test sets the order of the contenders.
#include "conclave/shared_mutex.hpp"
#include "fixture.hpp"

namespace conclave::testing {
namespace {

using kazoo_readers = lock_interop_test;

TEST_F(kazoo_readers, share_the_lock_with_conclave_readers_and_wait_for_a_conclave_writer) {
  const auto path = fresh_node(zk, "kazoo-readers");
  contest c;
  c.path = path;
  c.layout_name = "kazoo";
  c.kinds = "read,read";
  c.hold = "forever";
  lock_options options;
  options.layout = layout::kazoo();
  shared_mutex reading{zk, path, options};
  shared_mutex writing{zk, path, options};

  reading.lock_shared();
  contender_process inside{library::kazoo, c};
  ASSERT_TRUE(inside.acquired() && inside.acquired()) << "beside our reader";
  EXPECT_TRUE(reading.try_lock_shared()) << "beside theirs";
  reading.unlock_shared();
  reading.unlock_shared();
  EXPECT_FALSE(writing.try_lock()) << "theirs are still inside";

  const auto other_path = fresh_node(zk, "kazoo-readers");
  shared_mutex first{zk, other_path, options};
  first.lock();
  c.path = other_path;
  c.hold = "0";
  contender_process waiting{library::kazoo, c};
  wait_for_contenders(other_path, 3);
  EXPECT_FALSE(waiting.reported());
  first.unlock();
  EXPECT_EQ(waiting.finish().size(), 2u);
  EXPECT_TRUE(first.try_lock());
}

}  // namespace
}  // namespace conclave::testing
