// One fault at every possible place: after each frame in each direction, inside of frames, and
// leave() after each event.
#include <gtest/gtest.h>

#include "attempt.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using recipes::lock_request;

// Three clients with two contenders each acquire one lock, wait for it and hand it off.
class round_of_three {
 public:
  round_of_three(bool tickets, bool with_parent, std::size_t parents = 1)
      : c{{.clients = 3}, tickets} {
    if (parents > 1) c.request.parents.push_back("/locks/two");
    if (!with_parent) return;
    c.world.by_hand().create("/locks");
    for (const auto& p : c.request.parents) c.world.by_hand().create(p);
  }

  void begin() {
    for (std::size_t i = 0; i < 6; ++i) {
      all.push_back(c.begin(i % 3));
      const std::weak_ptr<attempt> weak = all.back();
      all.back()->when_granted = [this, weak] {
        c.world.after(150ms, [weak] {
          if (const auto a = weak.lock(); a && !a->left()) a->leave();
        });
      };
      c.world.advance(500us);
    }
  }
  bool finish() {
    return c.run_until(
        [&] { return std::all_of(all.begin(), all.end(), [](auto& a) { return a->done(); }); });
  }
  void check(bool all_granted = true) {
    EXPECT_TRUE(finish());
    for (const auto& a : all) EXPECT_TRUE(a->was_granted() || !all_granted) << a->journal().front();
    c.world.advance(1s);
    c.checker().expect_no_orphans();
  }

  contender_world c;
  std::vector<attempt_pointer> all;
};

class lost_connection : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(tickets, lost_connection, testing::Bool(),
                         [](auto& i) { return i.param ? "on" : "off"; });

TEST_P(lost_connection, after_each_frame_every_contender_is_granted) {
  std::size_t disconnects = 0;
  for (const auto way : {direction::up, direction::down})
    for (const disconnect_style how :
         {disconnect_style{false, false}, {false, true}, {true, false}, {true, true}})
      for (const bool with_parent : {true, false})
        for (const std::size_t parents : {1u, 2u})
          for (std::size_t n = 1;; ++n) {
            SCOPED_TRACE(testing::Message()
                         << "frame " << n << (way == direction::up ? " up" : " down") << ", late "
                         << how.requests_arrive << ", at once " << how.before_notices << ", parent "
                         << with_parent << ", parents " << parents);
            round_of_three r{GetParam(), with_parent, parents};
            auto& c = r.c.world.client(0);
            c.disconnect_after_frames(way, n, how);
            r.begin();
            r.check();
            if (testing::Test::HasFailure()) return;
            if (c.fault_pending()) break;
            ++disconnects;
          }
  EXPECT_GT(disconnects, 200u);
}

TEST_P(lost_connection, twice_within_a_short_time_every_contender_is_granted) {
  for (std::size_t n = 1; n < 16; ++n)
    for (std::size_t m = 1; m < 12; ++m)
      for (const auto way : {direction::up, direction::down}) {
        SCOPED_TRACE(testing::Message() << "frame " << n << ", then " << m
                                        << (way == direction::up ? " up" : " down"));
        round_of_three r{GetParam(), true};
        auto& c = r.c.world.client(0);
        const disconnect_style how{false, m % 2 == 0};
        c.disconnect_after_frames(way, n, how);
        r.begin();
        r.c.run_until([&] { return !c.fault_pending() || r.all[3]->done(); });
        c.disconnect_after_frames(n % 2 == 0 ? direction::up : direction::down, m, how);
        r.check();
        if (testing::Test::HasFailure()) return;
      }
}

TEST_P(lost_connection, at_each_byte_of_the_first_requests_every_contender_is_granted) {
  for (const auto way : {direction::up, direction::down})
    for (std::size_t n = 1; n < 500; n += 3) {
      SCOPED_TRACE(testing::Message() << "byte " << n << (way == direction::up ? " up" : " down"));
      round_of_three r{GetParam(), true};
      r.c.world.client(0).disconnect_after_bytes(way, n);
      r.begin();
      r.check();
      if (testing::Test::HasFailure()) return;
    }
}

TEST_P(lost_connection, every_contender_is_granted_after_a_server_restart_at_any_time) {
  for (int k = 0; k < 400; k += 3) {
    SCOPED_TRACE(testing::Message() << "after " << k << " ms");
    round_of_three r{GetParam(), k % 2 == 0};
    r.c.world.after(k * 1ms, [&] { r.c.world.restart_server(); });
    r.begin();
    r.check();
    if (testing::Test::HasFailure()) return;
  }
}

// The first, the second or the last contender leaves after each event, with and without a fault.
TEST_P(lost_connection, a_contender_that_leaves_after_any_event_leaves_no_node) {
  for (const std::size_t who : {0u, 1u, 5u})
    for (const int fault : {0, 1, 2, 3})
      for (const bool with_parent : {true, false}) {
        bool was_done = false;
        for (int k = 0; !was_done; ++k) {
          SCOPED_TRACE(testing::Message() << "contender " << who << " leaves after event " << k
                                          << ", fault " << fault << ", parent " << with_parent);
          round_of_three r{GetParam(), with_parent};
          auto& c = r.c.world.client(who % 3);
          if (fault == 1) c.drop_reply(wire::opcode::create2);
          if (fault == 2) c.drop_request(wire::opcode::create2);
          if (fault == 3) c.drop_reply(GetParam() ? wire::opcode::multi : wire::opcode::remove);
          r.begin();
          for (int i = 0; i < k; ++i) r.c.world.step();
          was_done = r.all[who]->done();
          if (!r.all[who]->left()) r.all[who]->leave();
          r.check(false);
          for (const auto& a : r.all) EXPECT_TRUE(a == r.all[who] || a->was_granted());
          if (testing::Test::HasFailure()) return;
        }
      }
}

}  // namespace
}  // namespace conclave::simulated
