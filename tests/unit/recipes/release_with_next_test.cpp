// A release that goes along with the next creation of the same lock object: one transaction for
// both. Users who lock again the moment they have unlocked, with faults at every place.
#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "lock_contest.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;

// Locks, holds for a moment, unlocks and locks again, so many times.
class hurried {
 public:
  hurried(lock_contest& c, std::size_t client, const std::string& path, int rounds)
      : contest_{c}, locker_{c.add(client, a_mutex({path}))}, left_{rounds} {}

  void go() {
    now_ = locker_->lock(role::exclusive, [this] { told(); });
  }
  bool done() const { return left_ == 0; }
  int failures() const { return failures_; }

 private:
  void told() {
    contest_.world.after(5ms, [this] {
      if (now_->granted()) {
        now_->unlocked = true;
        const recipes::session_context::scope inside{locker_->client()};
        locker_->object().release(role::exclusive);
      } else {
        ++failures_;
      }
      if (--left_ > 0) go();
    });
  }

  lock_contest& contest_;
  locker_pointer locker_;
  call_pointer now_;
  int left_;
  int failures_ = 0;
};

class release_with_next {
 public:
  explicit release_with_next(std::size_t users, int rounds, world_options o = {})
      : c{(o.clients = users, o.connect_wait = 10min, o.session_timeout = 60s, o)} {
    c.world.by_hand().create("/locks");
    c.world.by_hand().create(path);
    for (std::size_t i = 0; i < users; ++i)
      all.push_back(std::make_unique<hurried>(c, i, path, rounds));
  }
  bool run() {
    for (auto& u : all) u->go();
    return c.run_until([&] {
      return std::all_of(all.begin(), all.end(), [](const auto& u) { return u->done(); });
    });
  }
  const std::string path = "/locks/one";
  lock_contest c;
  std::vector<std::unique_ptr<hurried>> all;
};

TEST(with_next, alone_it_is_one_request_for_each_cycle) {
  release_with_next r{1, 50};
  ASSERT_TRUE(r.run());
  const auto& sent = r.c.world.client(0).traffic();
  // The first two cycles tell that it is worth it.
  EXPECT_GE(sent.of(opcode::multi), 48);
  EXPECT_LE(sent.of(opcode::create2), 2);
  EXPECT_LE(sent.of(opcode::get_data), 4);
  r.c.check_end();
}

TEST(with_next, others_come_in_between_in_their_order) {
  release_with_next r{3, 20};
  ASSERT_TRUE(r.run());
  EXPECT_EQ(r.c.judge->grants, 60);
  for (const auto& u : r.all) EXPECT_EQ(u->failures(), 0);
  r.c.check_end();
}

TEST(with_next, a_cut_behind_any_frame_loses_nothing) {
  for (const auto way : {direction::up, direction::down})
    for (std::size_t n = 1;; ++n) {
      SCOPED_TRACE(std::to_string(n) + (way == direction::up ? " up" : " down"));
      release_with_next r{2, 6};
      auto& link = r.c.world.client(0);
      link.cut_after_frames(way, n);
      ASSERT_TRUE(r.run());
      for (const auto& u : r.all) ASSERT_EQ(u->failures(), 0);
      const bool none_left = link.fault_pending();
      link.forget_fault();
      r.c.check_end();
      if (::testing::Test::HasFailure() || none_left) break;
    }
}

TEST(with_next, a_lost_request_or_reply_of_it_is_settled) {
  for (const bool reply : {false, true})
    for (int skipped = 0; skipped < 4; ++skipped) {
      release_with_next r{2, 8};
      auto& link = r.c.world.client(0);
      // Between the rounds, so that other transactions are hit as well.
      r.c.world.after(std::chrono::milliseconds{40 + 17 * skipped}, [&] {
        reply ? link.swallow_reply(opcode::multi) : link.swallow_request(opcode::multi);
      });
      ASSERT_TRUE(r.run());
      for (const auto& u : r.all) ASSERT_EQ(u->failures(), 0);
      EXPECT_FALSE(link.fault_pending());
      r.c.check_end();
      if (::testing::Test::HasFailure()) return;
    }
}

TEST(with_next, an_answer_that_leaves_it_open_is_settled) {
  for (int skipped = 0; skipped < 4; ++skipped) {
    release_with_next r{2, 8};
    auto& link = r.c.world.client(0);
    r.c.world.after(std::chrono::milliseconds{40 + 17 * skipped},
                    [&] { link.falsify_reply(opcode::multi, errc::operation_timeout); });
    ASSERT_TRUE(r.run());
    for (const auto& u : r.all) ASSERT_EQ(u->failures(), 0);
    EXPECT_FALSE(link.fault_pending());
    r.c.check_end();
    if (::testing::Test::HasFailure()) return;
  }
}

// The creation waits for a connection with the release, and not a second time without it.
TEST(with_next, without_a_server_it_fails_in_the_time_of_one_wait) {
  world_options o;
  o.connect_wait = 2s;
  lock_contest c{o};
  const auto l = c.add(0, a_mutex({"/locks/one"}));
  const auto a = l->lock();
  ASSERT_TRUE(c.granted(a));
  c.world.advance(50ms);
  const auto b = l->lock();
  auto& link = c.world.client(0);
  link.refuse_connections(true);
  link.cut();
  const auto since = c.world.now();
  l->unlock(a);
  ASSERT_TRUE(c.told(b));
  EXPECT_EQ(b->ec, errc::not_connected);
  EXPECT_LT(c.world.now() - since, 3s);
  link.refuse_connections(false);
  c.check_end();
}

TEST(with_next, the_sessions_end_at_any_moment_leaves_nothing_behind) {
  for (int after = 0; after < 60; after += 3) {
    SCOPED_TRACE(after);
    release_with_next r{2, 6};
    auto& link = r.c.world.client(0);
    r.c.world.after(std::chrono::milliseconds{after}, [&] {
      link.refuse_connections(true);
      link.cut();
      r.c.world.after(90s, [&] { link.refuse_connections(false); });
    });
    ASSERT_TRUE(r.run());
    r.c.check_end();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(with_next, a_node_deleted_by_hand_at_any_moment_harms_nobody_else) {
  for (int after = 1; after < 60; after += 3) {
    SCOPED_TRACE(after);
    release_with_next r{2, 6};
    r.c.judge->hear({});  // who is robbed may be the last to know
    r.c.world.after(std::chrono::milliseconds{after}, [&] {
      const auto line = r.c.children(r.path);
      if (!line.empty()) r.c.world.by_hand().remove(r.path + "/" + line.front());
    });
    ASSERT_TRUE(r.run());
    r.c.check_end();
    if (::testing::Test::HasFailure()) return;
  }
}

// The transaction stays on its way while the path is deleted by hand and made again, and the names
// in it are others' when it arrives. It has done harm then, but what was served in the old line
// must not make it the holder in the new one.
TEST(with_next, a_release_that_arrives_in_another_line_grants_nothing) {
  world_options o;
  o.clients = 3;
  lock_contest c{o};
  const std::string path = "/locks/one";
  const auto ours = c.add(0, a_mutex({path}));
  const auto burnt = ours->lock();  // number 0
  ASSERT_TRUE(c.granted(burnt));
  ours->unlock(burnt);
  c.quieten();
  const auto first = ours->lock();
  ASSERT_TRUE(c.granted(first));
  const auto second = ours->lock();
  auto& link = c.world.client(0);
  link.stall(true);
  ours->unlock(first);
  c.world.advance(10ms);
  ASSERT_EQ(c.children(path), std::vector<std::string>{"lock-0000000001"});
  c.world.by_hand().remove(path + "/lock-0000000001");
  c.world.by_hand().remove(path);
  const auto holder = c.add(1, a_mutex({path}));
  const auto held = holder->lock();
  ASSERT_TRUE(c.granted(held));
  const auto waits = c.add(2, a_mutex({path}))->lock();
  c.world.advance(10ms);
  ASSERT_EQ(c.children(path).back(), "lock-0000000001");
  link.stall(false);
  c.world.advance(1s);
  EXPECT_EQ(second->told, 0);
  EXPECT_TRUE(held->holding());
  holder->unlock(held);
  ASSERT_TRUE(c.granted(second));
  ours->unlock(second);
  EXPECT_TRUE(c.told(waits));
  EXPECT_EQ(waits->ec, errc::waiter_node_deleted);
  c.check_end();
}

}  // namespace
}  // namespace conclave::simulated
