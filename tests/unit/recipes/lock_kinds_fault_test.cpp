// One fault at every possible place, for every kind of lock: a connection loss or an expiry after
// each frame in each direction, and a caller that gives up after each event.
#include <algorithm>

#include <gtest/gtest.h>

#include "attempt.hpp"
#include "lock_test_world.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;

// One user of a round: the lock, the role, and whether the user downgrades.
struct user {
  lock_kind kind;
  role as = role::exclusive;
  bool downgrades = false;
};

std::vector<user> users_of(const std::string& what) {
  const std::string a = "/locks/a", b = "/locks/b", d = "/locks/d";
  const auto shared = a_shared_mutex(a);
  if (what == "shared_mutex")
    return {{shared, role::writer, true}, {shared, role::reader}, {shared, role::writer},
            {shared, role::reader},       {shared, role::reader}, {shared, role::writer, true}};
  if (what == "semaphore") return std::vector<user>(6, {a_semaphore("/locks", 2)});
  if (what == "election") return std::vector<user>(6, {an_election(a)});
  if (what == "named_mutex") return std::vector<user>(5, {a_named_mutex(a)});
  return {{a_mutex({a, b})}, {a_mutex({b})},    {a_mutex({a})},
          {a_mutex({b, d})}, {a_mutex({d, a})}, {a_mutex({a, b, d})}};
}

// Users of three clients lock one after the other, hold the lock for some time and unlock.
class round_of_locks {
 public:
  round_of_locks(const std::string& what, bool with_parents, world_options o = {})
      : c{(o.clients = 3, o.connect_wait = 10min, o)}, users{users_of(what)} {
    if (with_parents) {
      c.world.by_hand().create("/locks");
      for (const auto& u : users)
        for (const auto& p : u.kind.parents()) c.world.by_hand().create(p);
    }
  }

  void begin() {
    for (std::size_t i = 0; i < users.size(); ++i) {
      lockers.push_back(c.add(i % 3, users[i].kind));
      calls.push_back(nullptr);
      calls[i] = lockers[i]->lock(users[i].as, [this, i] {
        c.world.after(users[i].downgrades ? 30ms : 150ms, [this, i] { go_on(i); });
      });
      c.world.advance(500us);
    }
  }
  void go_on(std::size_t i) {
    if (!calls[i]->granted() || calls[i]->unlocked) return;
    if (users[i].downgrades) {
      lockers[i]->downgrade(calls[i]);
      c.world.after(150ms, [this, i] {
        if (!calls[i]->unlocked) lockers[i]->unlock(calls[i]);
      });
    } else {
      lockers[i]->unlock(calls[i]);
    }
  }
  bool finished() const {
    return std::all_of(calls.begin(), calls.end(),
                       [](auto& a) { return a->completions > 0 && (a->ec || a->unlocked); });
  }
  void check(const call_pointer& but = {}) {
    EXPECT_TRUE(c.run_until([&] { return finished(); }));
    for (std::size_t i = 0; i < calls.size(); ++i)
      EXPECT_TRUE(calls[i] == but || calls[i]->granted())
          << i << ": " << (calls[i]->completions > 0 ? name_of(calls[i]->ec) : "waits");
    c.check_end();
  }

  lock_test_world c;
  std::vector<user> users;
  std::vector<locker_pointer> lockers;
  std::vector<call_pointer> calls;
};

class every_lock_kind : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(of, every_lock_kind,
                         testing::Values("shared_mutex", "semaphore", "named_mutex", "multi_mutex",
                                         "election"),
                         [](auto& i) { return i.param; });

TEST_P(every_lock_kind, is_granted_after_a_connection_loss_after_any_frame) {
  std::size_t disconnects = 0;
  for (const auto way : {direction::up, direction::down})
    for (const auto how : disconnect_styles)
      for (const bool with_parents : {true, false})
        for (std::size_t n = 1;; ++n) {
          SCOPED_TRACE(testing::Message()
                       << "frame " << n << (way == direction::up ? " up" : " down") << ", late "
                       << how.requests_arrive << ", at once " << how.before_notices << ", parents "
                       << with_parents);
          round_of_locks r{GetParam(), with_parents};
          auto& link = r.c.world.client(0);
          link.disconnect_after_frames(way, n, how);
          r.begin();
          r.check();
          ASSERT_FALSE(HasFailure());
          if (link.fault_pending()) break;
          ++disconnects;
        }
  EXPECT_GT(disconnects, 80u);
}

TEST_P(every_lock_kind, is_granted_after_two_connection_losses) {
  for (std::size_t n = 1; n < 16; n += 2)
    for (std::size_t m = 1; m < 10; ++m)
      for (const auto way : {direction::up, direction::down}) {
        SCOPED_TRACE(testing::Message() << "frame " << n << ", then " << m
                                        << (way == direction::up ? " up" : " down"));
        round_of_locks r{GetParam(), true};
        auto& link = r.c.world.client(0);
        const disconnect_style how{n % 4 == 1, m % 2 == 0};
        link.disconnect_after_frames(way, n, how);
        r.begin();
        r.c.run_until([&] { return !link.fault_pending() || r.finished(); });
        link.disconnect_after_frames(m % 3 == 0 ? direction::up : direction::down, m, how);
        r.check();
        ASSERT_FALSE(HasFailure());
      }
}

// Waiters of the first client start again. Its holders are notified.
TEST_P(every_lock_kind, is_granted_after_an_expiry_after_any_frame) {
  world_options o;
  o.session_timeout = 10s;
  int ended = 0, holders = 0;
  for (const auto way : {direction::up, direction::down})
    for (const auto how : disconnect_styles)
      for (std::size_t n = 1;; ++n) {
        SCOPED_TRACE(testing::Message()
                     << "frame " << n << (way == direction::up ? " up" : " down") << ", late "
                     << how.requests_arrive << ", at once " << how.before_notices);
        round_of_locks r{GetParam(), true, o};
        auto& link = r.c.world.client(0);
        link.disconnect_after_frames(way, n, how);
        link.refuse_connections(true);
        r.begin();
        r.c.world.advance(25s);
        const bool struck = !link.fault_pending();
        link.refuse_connections(false);
        link.forget_fault();
        r.check();
        ASSERT_FALSE(HasFailure());
        holders += r.c.judge->expiries_of_holders;
        if (!struck) break;
        ++ended;
      }
  EXPECT_GT(ended, 30);
}

TEST_P(every_lock_kind, is_granted_after_a_server_restart_at_any_time) {
  for (int k = 0; k < 500; k += 6) {
    SCOPED_TRACE(testing::Message() << "after " << k << " ms");
    round_of_locks r{GetParam(), k % 4 == 0};
    r.c.world.after(k * 1ms, [&] { r.c.world.restart_server(); });
    r.begin();
    r.check();
    ASSERT_FALSE(HasFailure());
  }
}

TEST_P(every_lock_kind, a_caller_that_gives_up_after_any_event_leaves_no_node) {
  int given_up = 0;
  for (const std::size_t who : {0u, 3u})
    for (const int fault : {0, 1, 2, 3, 4}) {
      bool was_done = false;
      for (int k = 0; !was_done; k += fault == 0 ? 1 : 2) {
        SCOPED_TRACE(testing::Message()
                     << "user " << who << " after event " << k << ", fault " << fault);
        round_of_locks r{GetParam(), k % 2 == 0};
        auto& link = r.c.world.client(0);
        if (fault == 1) link.drop_reply(opcode::create2);
        if (fault == 2) link.drop_request(opcode::create2);
        if (fault == 3) link.drop_reply(opcode::multi);
        if (fault == 4) link.drop_reply(opcode::remove);
        r.begin();
        for (int i = 0; i < k; ++i) r.c.world.step();
        const auto a = r.calls[who];
        was_done = a->unlocked;
        r.lockers[who]->give_up(a);
        given_up += a->completions > 0 && a->ec;
        if (a->granted() && !a->unlocked) r.lockers[who]->unlock(a);
        r.check(a);
        ASSERT_FALSE(HasFailure());
      }
    }
  EXPECT_GT(given_up, 20);
}

}  // namespace
}  // namespace conclave::simulated
