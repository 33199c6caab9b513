// The cost of many contenders must grow in proportion to their number. Counts listings of the wait
// queue, because each of them is as long as the wait queue.
#include <algorithm>
#include <random>

#include "lock_test_world.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;

class growth : public testing::Test {
 protected:
  static constexpr int many = 300;

  lock_test_world c{{.clients = 2}};
  const std::string path = "/locks/one";
  client& first() { return c.world.client(0); }
  int listings() { return first().traffic().of(opcode::get_children2); }
  void SetUp() override {
    c.world.by_hand().create("/locks");
    c.world.by_hand().create(path);
  }
  std::vector<call_pointer> lock_many(const locker_pointer& l, role as) {
    std::vector<call_pointer> all;
    for (int i = 0; i < many; ++i) all.push_back(l->lock(as));
    return all;
  }
  bool all_hold(const std::vector<call_pointer>& calls) {
    return c.run_until([&] {
      return std::all_of(calls.begin(), calls.end(), [](auto& a) { return a->holding(); });
    });
  }
  // Checks that each call is granted once.
  void each_holds_once(std::vector<std::pair<locker_pointer, call_pointer>> left) {
    while (!left.empty()) {
      const auto holds = [](const auto& each) { return each.second->holding(); };
      auto next = left.end();
      ASSERT_TRUE(c.run_until([&] {
        next = std::find_if(left.begin(), left.end(), holds);
        return next != left.end();
      }));
      next->first->unlock(next->second);
      left.erase(next);
    }
  }
};

TEST_F(growth, readers_behind_a_writer_share_their_listings) {
  const auto other = c.add(1, a_shared_mutex(path));
  const auto writer = other->lock(role::writer);
  ASSERT_TRUE(c.granted(writer));
  const auto l = c.add(0, a_shared_mutex(path));
  const auto readers = lock_many(l, role::reader);
  c.finish_pending_work();
  EXPECT_LE(listings(), 8);
  const auto before = listings();
  other->unlock(writer);
  ASSERT_TRUE(all_hold(readers));
  EXPECT_EQ(listings(), before);  // the deletion of the writer's node is enough
  for (const auto& r : readers) l->unlock(r);
}

TEST_F(growth, readers_behind_two_writers_share_their_listings) {
  const auto other = c.add(1, a_shared_mutex(path)), next = c.add(1, a_shared_mutex(path));
  const auto writer = other->lock(role::writer);
  ASSERT_TRUE(c.granted(writer));
  const auto second = next->lock(role::writer);
  c.world.advance(20ms);
  const auto l = c.add(0, a_shared_mutex(path));
  const auto readers = lock_many(l, role::reader);
  c.finish_pending_work();
  const auto before = listings();
  next->give_up(second);
  c.finish_pending_work();
  EXPECT_LE(listings(), before + 8);
  other->unlock(writer);
  ASSERT_TRUE(all_hold(readers));
  for (const auto& r : readers) l->unlock(r);
}

TEST_F(growth, hand_offs_between_writers_need_no_listing) {
  std::vector<std::pair<locker_pointer, call_pointer>> all;
  for (int i = 0; i < many; ++i) {
    const auto l = c.add(0, a_shared_mutex(path));
    all.emplace_back(l, l->lock(role::writer));
  }
  c.finish_pending_work();
  EXPECT_LE(listings(), 8);
  const auto before = listings();
  each_holds_once(std::move(all));
  EXPECT_EQ(listings(), before);
}

TEST_F(growth, hand_offs_between_candidates_need_no_listing) {
  std::vector<std::pair<locker_pointer, call_pointer>> all;
  for (int i = 0; i < many; ++i) {
    const auto l = c.add(0, an_election(path));
    all.emplace_back(l, l->lock());
  }
  c.finish_pending_work();
  EXPECT_LE(listings(), 8);
  const auto before = listings();
  each_holds_once(std::move(all));
  EXPECT_EQ(listings(), before);
}

// The contenders that share a listing may leave, lose their connection or find their node deleted
// while they wait for it.
TEST_F(growth, contenders_that_share_a_listing_can_leave) {
  first().listings.most_in_flight = 1;
  std::mt19937 random{7};
  for (int round = 0; round < 30; ++round) {
    const auto l = c.add(0, a_shared_mutex(path));
    auto readers = lock_many(l, role::reader);
    c.world.advance(std::chrono::microseconds{random() % 6000});
    std::erase_if(readers, [&](const auto& r) {
      const bool leaves = random() % 2 == 0;
      if (leaves && r->completions > 0)
        l->unlock(r);
      else if (leaves)
        l->give_up(r);
      return leaves;
    });
    if (round % 3 == 0) first().disconnect();
    ASSERT_TRUE(all_hold(readers)) << round;
    for (const auto& r : readers) l->unlock(r);
    c.finish_pending_work();
    EXPECT_TRUE(c.children(path).empty());
  }
}

}  // namespace
}  // namespace conclave::simulated
