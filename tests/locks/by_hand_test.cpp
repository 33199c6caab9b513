// Somebody deletes a contender's node, or asks its owner to let go.
#include "locks/contest.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

class by_hand : public with_and_without_tickets {
 protected:
  client one{shared_server().connect_string()};
  client two{shared_server().connect_string()};
  onlooker line{"by-hand"};
};
INSTANTIATE_TEST_SUITE_P(with, by_hand, ::testing::Bool(), tickets_name);

TEST_P(by_hand, a_holder_whose_node_is_deleted_is_told) {
  inbox<error_code> lost;
  auto o = options();
  o.on_lost = [&](const hold& h, error_code why) {
    EXPECT_FALSE(h.held());
    lost.put(why);
  };
  mutex m{one, line.path(), o};
  m.lock();
  const auto hold = m.hold();
  line.zk().remove(hold.node());
  EXPECT_EQ(lost.take(), error_code{errc::node_deleted});
  EXPECT_EQ(hold.why_lost(), errc::node_deleted);
  EXPECT_TRUE(hold.lost().stop_requested());
  EXPECT_FALSE(m.held());
  m.unlock();
  m.lock();
  EXPECT_TRUE(m.held());
  EXPECT_GT(m.fencing_token(), hold.fencing_token());
  EXPECT_EQ(line.contenders(), std::vector{name_of(m.hold().node())});
  m.unlock();
  EXPECT_EQ(lost.size(), 0u);
}

TEST_P(by_hand, a_waiter_whose_node_is_deleted_fails) {
  mutex a{one, line.path(), options()};
  mutex b{two, line.path(), options()};
  a.lock();
  auto b_locks = elsewhere([&] { return code_of([&] { b.lock(); }); });
  ASSERT_TRUE(line.wait_for(2));
  const auto held = name_of(a.hold().node());
  for (const auto& name : line.contenders())
    if (name != held) line.zk().remove(line.path() + "/" + name);
  ASSERT_TRUE(ready(b_locks));
  EXPECT_EQ(b_locks.get(), errc::waiter_node_deleted);
  EXPECT_TRUE(a.held());
  a.unlock();
  b.lock();
  EXPECT_TRUE(b.held());
  b.unlock();
  EXPECT_TRUE(line.wait_for(0));
}

// The one behind it must not take that for a release.
TEST_P(by_hand, a_waiter_deleted_in_the_middle_grants_nothing) {
  client three{shared_server().connect_string()};
  mutex a{one, line.path(), options()};
  mutex b{two, line.path(), options()};
  mutex c{three, line.path(), options()};
  a.lock();
  auto b_locks = elsewhere([&] { return code_of([&] { b.lock(); }); });
  ASSERT_TRUE(line.wait_for(2));
  const auto middle = line.contenders()[1];
  auto c_locks = elsewhere([&] { c.lock(); });
  ASSERT_TRUE(line.wait_for(3));
  line.zk().remove(line.path() + "/" + middle);
  ASSERT_TRUE(ready(b_locks));
  EXPECT_EQ(b_locks.get(), errc::waiter_node_deleted);
  three.sync();  // whatever the event made c ask is answered before this
  three.sync();
  EXPECT_FALSE(ready(c_locks, 50ms));
  EXPECT_TRUE(a.held());
  a.unlock();
  ASSERT_TRUE(ready(c_locks));
  c_locks.get();
  c.unlock();
  EXPECT_TRUE(line.wait_for(0));
}

TEST_P(by_hand, a_revocation_is_told_once) {
  link_proxy proxy{shared_server().port()};
  client cut_off{proxy.connect_string()};
  inbox<std::int64_t> asked;
  inbox<error_code> lost;
  inbox<bool> restored;
  auto o = options();
  o.on_revocation = [&](const hold& h) { asked.put(h.fencing_token()); };
  o.on_lost = [&](const hold&, error_code why) { lost.put(why); };
  o.on_restored = [&](const hold&) { restored.put(true); };
  mutex m{cut_off, line.path(), o};
  m.lock();
  const auto node = m.hold().node();
  line.zk().set(node, "nothing of that kind");
  line.zk().set(node, "__REVOKE__");
  EXPECT_EQ(asked.take(), m.fencing_token());
  EXPECT_TRUE(m.held()) << "asked, not forced";
  proxy.drop_links();
  ASSERT_TRUE(restored.take());
  cut_off.sync();
  EXPECT_EQ(asked.size(), 0u) << "a new connection is not a new request";
  m.unlock();
  EXPECT_TRUE(line.wait_for(0)) << "the badge it was known by is overwritten, and it goes";
  m.lock();
  EXPECT_TRUE(m.held());
  m.unlock();
  cut_off.sync();
  EXPECT_EQ(asked.size(), 0u);
  EXPECT_EQ(lost.size(), 0u);
}

// Before it holds anything, a revocation is not told; it is there when it does.
TEST_P(by_hand, a_waiter_can_be_asked_too) {
  inbox<std::int64_t> asked;
  auto o = options();
  o.on_revocation = [&](const hold& h) { asked.put(h.fencing_token()); };
  mutex a{one, line.path(), options()};
  mutex b{two, line.path(), o};
  a.lock();
  auto b_locks = elsewhere([&] { b.lock(); });
  ASSERT_TRUE(line.wait_for(2));
  line.zk().set(line.path() + "/" + line.contenders()[1], "__REVOKE__");
  two.sync();
  EXPECT_FALSE(ready(b_locks, 0s));
  EXPECT_EQ(asked.size(), 0u);
  a.unlock();
  ASSERT_TRUE(ready(b_locks));
  b_locks.get();
  EXPECT_EQ(asked.take(), b.fencing_token());
  b.unlock();
  EXPECT_TRUE(line.wait_for(0));
}

}  // namespace
}  // namespace conclave::testing
