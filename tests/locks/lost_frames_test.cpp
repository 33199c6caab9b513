// A connection that is lost at any place in the life of a lock: before a request, after it, and
// after its reply. Sessions outlive the tests, so that an orphan stays visible.
#include <map>
#include <optional>
#include <stop_token>

#include <boost/asio/use_future.hpp>

#include "integration/healed_link.hpp"
#include "locks/lock_observer.hpp"

namespace conclave::testing {
namespace {

using boost::asio::use_future;

namespace opcode {
constexpr std::int32_t remove = 2;
constexpr std::int32_t get = 4;
constexpr std::int32_t sync = 9;
constexpr std::int32_t children = 12;
constexpr std::int32_t multi = 14;
constexpr std::int32_t create = 15;
constexpr std::int32_t ephemerals = 103;
}  // namespace opcode

class lost_frames : public with_and_without_tickets {
 protected:
  // Three contenders: one holds, one waits and is granted, one gives up and tries again.
  void run_all_steps();
  template <class Arm>
  void at_every_frame(Arm arm, std::size_t fewest);

  link_proxy proxy{shared_server().port()};
  lock_observer wait_queue{"lost"};
  client first{proxy.connect_string(), healed_at_once(proxy)};
  client second{proxy.connect_string(), healed_at_once(proxy)};
  client third{proxy.connect_string(), healed_at_once(proxy)};
  mutex a{first, wait_queue.path(), options()};
  mutex b{second, wait_queue.path(), options()};
  mutex c{third, wait_queue.path(), options()};
  std::size_t hit_twice = 0;
};
INSTANTIATE_TEST_SUITE_P(with, lost_frames, ::testing::Bool(), tickets_name);

void lost_frames::run_all_steps() {
  std::vector<hold_interval> holds;
  const auto release = [&](mutex& m, moment since) {
    holds.emplace_back(since, now(), m.fencing_token());
    return m.async_unlock(use_future);
  };
  // An orphan would block all contenders behind it, so every call has a timeout.
  ASSERT_TRUE(a.try_lock_for(wait_limit)) << "a is not granted";
  const auto a_since = now();
  auto b_locks = run_async([&] {
    EXPECT_NO_THROW(EXPECT_TRUE(b.try_lock_for(wait_limit)) << "b is not granted");
    return now();
  });
  ASSERT_TRUE(wait_queue.wait_for_at_least(2));
  std::stop_source stop;
  auto c_gives_up = run_async([&] { return c.lock(stop.get_token()); });
  ASSERT_TRUE(wait_queue.wait_for_at_least(3));
  stop.request_stop();
  EXPECT_FALSE(c_gives_up.get());
  EXPECT_FALSE(ready(b_locks, 0s)) << "a holds it";

  auto a_done = release(a, a_since);
  ASSERT_TRUE(ready(b_locks)) << "b is not granted; contenders: " << wait_queue.contenders().size();
  const auto b_since = b_locks.get();
  ASSERT_TRUE(ready(a_done)) << "a's release is not confirmed";
  ASSERT_TRUE(wait_queue.wait_for(1)) << "an orphan";
  EXPECT_EQ(wait_queue.contenders(), std::vector{name_of(b.hold().node())});

  auto c_locks = run_async([&] {
    EXPECT_NO_THROW(EXPECT_TRUE(c.try_lock_for(wait_limit)) << "c is not granted");
    return now();
  });
  ASSERT_TRUE(wait_queue.wait_for_at_least(2)) << "b is lost: " << b.hold().why_lost().message();
  EXPECT_TRUE(b.held());
  auto b_done = release(b, b_since);
  ASSERT_TRUE(ready(c_locks)) << "c is not granted; contenders: " << wait_queue.contenders().size();
  const auto c_since = c_locks.get();
  ASSERT_TRUE(ready(b_done)) << "b's release is not confirmed";
  EXPECT_EQ(wait_queue.contenders(), std::vector{name_of(c.hold().node())});
  auto c_done = release(c, c_since);
  ASSERT_TRUE(ready(c_done)) << "c's release is not confirmed";
  EXPECT_TRUE(wait_queue.contenders().empty());
  EXPECT_EQ(holds.size(), 3u);
  expect_exclusion(holds);
}

template <class Arm>
void lost_frames::at_every_frame(Arm arm, std::size_t fewest) {
  run_all_steps();  // after this, every client has connected
  testing::at_every_frame(proxy, fewest, arm, [this] {
    run_all_steps();
    if (proxy.faults() > 1) ++hit_twice;
  });
  const auto session = first.session_id();
  first.sync();
  EXPECT_EQ(first.session_id(), session);
}

TEST_P(lost_frames, one_connection_lost_after_every_request) {
  at_every_frame([&](std::size_t n) { proxy.disconnect_after_client_frames(n); }, 12);
}

TEST_P(lost_frames, one_connection_lost_after_every_reply) {
  at_every_frame([&](std::size_t n) { proxy.disconnect_after_server_frames(n); }, 12);
}

// All three clients lose their connections and cannot reconnect for some time.
TEST_P(lost_frames, all_connections_lost_after_every_request) {
  at_every_frame(
      [&](std::size_t n) {
        proxy.disconnect_after_client_frames(n, link_proxy::afterwards::refuse_until_heal);
      },
      12);
}

TEST_P(lost_frames, all_connections_lost_after_every_reply) {
  at_every_frame(
      [&](std::size_t n) {
        proxy.disconnect_after_server_frames(n, link_proxy::afterwards::refuse_until_heal);
      },
      12);
}

// The second loss happens during the recovery from the first, or soon after.
TEST_P(lost_frames, connection_lost_twice) {
  for (std::size_t apart = 0; apart < 6; ++apart)
    at_every_frame(
        [&](std::size_t n) {
          proxy.disconnect_after_client_frames(n);
          proxy.disconnect_after_server_frames(n + apart);
        },
        12);
  EXPECT_GT(hit_twice, 50u);
}

// The reply to one request is lost, or a request is lost, or both.
TEST_P(lost_frames, one_request_or_reply_of_each_kind_lost) {
  const std::vector<std::int32_t> kinds{opcode::remove,    opcode::get,   opcode::sync,
                                        opcode::children,  opcode::multi, opcode::create,
                                        opcode::ephemerals};
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> faults;
  for (const auto answer : kinds)
    for (const auto request : kinds) {
      proxy.reset_counters();
      SCOPED_TRACE("answer to " + std::to_string(answer) + ", request " + std::to_string(request));
      proxy.drop_reply_to(answer);
      proxy.drop_request(request);
      run_all_steps();
      if (HasFatalFailure()) return;
      faults[{answer, request}] = proxy.faults();
    }
  // The second fault hits requests that are sent only after a lost reply.
  const auto release = GetParam() ? opcode::multi : opcode::remove;
  for (const auto lost : {opcode::create, release}) {
    EXPECT_GT((faults[{lost, lost}]), 1u);
    EXPECT_GT((faults[{lost, opcode::sync}]), 1u);
  }
  EXPECT_GT((faults[{opcode::create, opcode::ephemerals}]), 1u);
}

}  // namespace
}  // namespace conclave::testing
