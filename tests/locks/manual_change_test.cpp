// A contender's node is deleted by hand, or a holder is asked to release.
#include "locks/lock_observer.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

class manual_changes : public with_and_without_tickets {
 protected:
  client one{shared_server().connect_string()};
  client two{shared_server().connect_string()};
  lock_observer wait_queue{"by-hand"};
};
INSTANTIATE_TEST_SUITE_P(with, manual_changes, ::testing::Bool(), tickets_name);

TEST_P(manual_changes, a_holder_whose_node_is_deleted_is_notified) {
  inbox<error_code> lost;
  auto o = options();
  o.on_lost = [&](const hold& h, error_code why) {
    EXPECT_FALSE(h.held());
    lost.put(why);
  };
  mutex m{one, wait_queue.path(), o};
  m.lock();
  const auto hold = m.hold();
  wait_queue.zk().remove(hold.node());
  EXPECT_EQ(lost.take(), error_code{errc::node_deleted});
  EXPECT_EQ(hold.why_lost(), errc::node_deleted);
  EXPECT_TRUE(hold.lost().stop_requested());
  EXPECT_FALSE(m.held());
  m.unlock();
  m.lock();
  EXPECT_TRUE(m.held());
  EXPECT_GT(m.fencing_token(), hold.fencing_token());
  EXPECT_EQ(wait_queue.contenders(), std::vector{name_of(m.hold().node())});
  m.unlock();
  EXPECT_EQ(lost.size(), 0u);
}

TEST_P(manual_changes, a_waiter_whose_node_is_deleted_fails) {
  mutex a{one, wait_queue.path(), options()};
  mutex b{two, wait_queue.path(), options()};
  a.lock();
  auto b_locks = run_async([&] { return code_of([&] { b.lock(); }); });
  ASSERT_TRUE(wait_queue.wait_for(2));
  const auto held = name_of(a.hold().node());
  for (const auto& name : wait_queue.contenders())
    if (name != held) wait_queue.zk().remove(wait_queue.path() + "/" + name);
  ASSERT_TRUE(ready(b_locks));
  EXPECT_EQ(b_locks.get(), errc::waiter_node_deleted);
  EXPECT_TRUE(a.held());
  a.unlock();
  b.lock();
  EXPECT_TRUE(b.held());
  b.unlock();
  EXPECT_TRUE(wait_queue.wait_for(0));
}

// The successor must not treat the deletion as a release.
TEST_P(manual_changes, deleting_a_waiters_node_grants_nothing) {
  client three{shared_server().connect_string()};
  mutex a{one, wait_queue.path(), options()};
  mutex b{two, wait_queue.path(), options()};
  mutex c{three, wait_queue.path(), options()};
  a.lock();
  auto b_locks = run_async([&] { return code_of([&] { b.lock(); }); });
  ASSERT_TRUE(wait_queue.wait_for(2));
  const auto middle = wait_queue.contenders()[1];
  auto c_locks = run_async([&] { c.lock(); });
  ASSERT_TRUE(wait_queue.wait_for(3));
  wait_queue.zk().remove(wait_queue.path() + "/" + middle);
  ASSERT_TRUE(ready(b_locks));
  EXPECT_EQ(b_locks.get(), errc::waiter_node_deleted);
  three.sync();  // all requests that the event caused are answered before this
  three.sync();
  EXPECT_FALSE(ready(c_locks, 50ms));
  EXPECT_TRUE(a.held());
  a.unlock();
  ASSERT_TRUE(ready(c_locks));
  c_locks.get();
  c.unlock();
  EXPECT_TRUE(wait_queue.wait_for(0));
}

TEST_P(manual_changes, a_revocation_is_reported_once) {
  link_proxy proxy{shared_server().port()};
  client proxied{proxy.connect_string()};
  inbox<std::int64_t> asked;
  inbox<error_code> lost;
  inbox<bool> restored;
  auto o = options();
  o.on_revocation = [&](const hold& h) { asked.put(h.fencing_token()); };
  o.on_lost = [&](const hold&, error_code why) { lost.put(why); };
  o.on_restored = [&](const hold&) { restored.put(true); };
  mutex m{proxied, wait_queue.path(), o};
  m.lock();
  const auto node = m.hold().node();
  wait_queue.zk().set(node, "nothing of that kind");
  wait_queue.zk().set(node, "__REVOKE__");
  EXPECT_EQ(asked.take(), m.fencing_token());
  EXPECT_TRUE(m.held()) << "a revocation does not end the hold";
  proxy.drop_links();
  ASSERT_TRUE(restored.take());
  proxied.sync();
  EXPECT_EQ(asked.size(), 0u) << "a new connection is not a new request";
  m.unlock();
  EXPECT_TRUE(wait_queue.wait_for(0)) << "the release must work although the id was overwritten";
  m.lock();
  EXPECT_TRUE(m.held());
  m.unlock();
  proxied.sync();
  EXPECT_EQ(asked.size(), 0u);
  EXPECT_EQ(lost.size(), 0u);
}

// A revocation is reported only to a holder.
TEST_P(manual_changes, a_revocation_of_a_waiter_is_reported_after_the_grant) {
  inbox<std::int64_t> asked;
  auto o = options();
  o.on_revocation = [&](const hold& h) { asked.put(h.fencing_token()); };
  mutex a{one, wait_queue.path(), options()};
  mutex b{two, wait_queue.path(), o};
  a.lock();
  auto b_locks = run_async([&] { b.lock(); });
  ASSERT_TRUE(wait_queue.wait_for(2));
  wait_queue.zk().set(wait_queue.path() + "/" + wait_queue.contenders()[1], "__REVOKE__");
  two.sync();
  EXPECT_FALSE(ready(b_locks, 0s));
  EXPECT_EQ(asked.size(), 0u);
  a.unlock();
  ASSERT_TRUE(ready(b_locks));
  b_locks.get();
  EXPECT_EQ(asked.take(), b.fencing_token());
  b.unlock();
  EXPECT_TRUE(wait_queue.wait_for(0));
}

}  // namespace
}  // namespace conclave::testing
