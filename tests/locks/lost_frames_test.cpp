// A link that is lost at any place in the life of a lock: before a request, behind it, behind its
// answer. Sessions outlive the tests here, so that an orphan would stay to be seen.
#include <map>
#include <optional>
#include <stop_token>

#include <boost/asio/use_future.hpp>

#include "integration/healed_link.hpp"
#include "locks/contest.hpp"

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
  // Three contenders: one holds, one waits and is granted, one gives up and comes back.
  void go_through_everything();
  template <class Arm>
  void at_every_frame(Arm arm, std::size_t fewest);

  link_proxy proxy{shared_server().port()};
  onlooker line{"lost"};
  client first{proxy.connect_string(), healed_at_once(proxy)};
  client second{proxy.connect_string(), healed_at_once(proxy)};
  client third{proxy.connect_string(), healed_at_once(proxy)};
  mutex a{first, line.path(), options()};
  mutex b{second, line.path(), options()};
  mutex c{third, line.path(), options()};
  std::size_t hit_twice = 0;
};
INSTANTIATE_TEST_SUITE_P(with, lost_frames, ::testing::Bool(), tickets_name);

void lost_frames::go_through_everything() {
  std::vector<stay> stays;
  const auto release = [&](mutex& m, moment since) {
    stays.emplace_back(since, now(), m.fencing_token());
    return m.async_unlock(use_future);
  };
  // Behind an orphan nobody would ever be granted; so that this ends, everybody has a time limit.
  ASSERT_TRUE(a.try_lock_for(patience)) << "a is not granted";
  const auto a_since = now();
  auto b_locks = elsewhere([&] {
    EXPECT_NO_THROW(EXPECT_TRUE(b.try_lock_for(patience)) << "b is not granted");
    return now();
  });
  ASSERT_TRUE(line.wait_for_at_least(2));
  std::stop_source stop;
  auto c_gives_up = elsewhere([&] { return c.lock(stop.get_token()); });
  ASSERT_TRUE(line.wait_for_at_least(3));
  stop.request_stop();
  EXPECT_FALSE(c_gives_up.get());
  EXPECT_FALSE(ready(b_locks, 0s)) << "a holds it";

  auto a_done = release(a, a_since);
  ASSERT_TRUE(ready(b_locks)) << "b is not granted; in line: " << line.contenders().size();
  const auto b_since = b_locks.get();
  ASSERT_TRUE(ready(a_done)) << "a's release is not confirmed";
  ASSERT_TRUE(line.wait_for(1)) << "an orphan";
  EXPECT_EQ(line.contenders(), std::vector{name_of(b.hold().node())});

  auto c_locks = elsewhere([&] {
    EXPECT_NO_THROW(EXPECT_TRUE(c.try_lock_for(patience)) << "c is not granted");
    return now();
  });
  ASSERT_TRUE(line.wait_for_at_least(2)) << "b is lost: " << b.hold().why_lost().message();
  EXPECT_TRUE(b.held());
  auto b_done = release(b, b_since);
  ASSERT_TRUE(ready(c_locks)) << "c is not granted; in line: " << line.contenders().size();
  const auto c_since = c_locks.get();
  ASSERT_TRUE(ready(b_done)) << "b's release is not confirmed";
  EXPECT_EQ(line.contenders(), std::vector{name_of(c.hold().node())});
  auto c_done = release(c, c_since);
  ASSERT_TRUE(ready(c_done)) << "c's release is not confirmed";
  EXPECT_TRUE(line.contenders().empty());
  EXPECT_EQ(stays.size(), 3u);
  expect_exclusion(stays);
}

template <class Arm>
void lost_frames::at_every_frame(Arm arm, std::size_t fewest) {
  go_through_everything();  // and so every client has connected
  testing::at_every_frame(proxy, fewest, arm, [this] {
    go_through_everything();
    if (proxy.faults() > 1) ++hit_twice;
  });
  const auto session = first.session_id();
  first.sync();
  EXPECT_EQ(first.session_id(), session);
}

TEST_P(lost_frames, cut_behind_every_request) {
  at_every_frame([&](std::size_t n) { proxy.cut_after_client_frames(n); }, 12);
}

TEST_P(lost_frames, cut_behind_every_answer) {
  at_every_frame([&](std::size_t n) { proxy.cut_after_server_frames(n); }, 12);
}

// All three clients lose their connection, and find no server when they look for one.
TEST_P(lost_frames, everybody_cut_off_behind_every_request) {
  at_every_frame(
      [&](std::size_t n) {
        proxy.cut_after_client_frames(n, link_proxy::afterwards::refuse_until_heal);
      },
      12);
}

TEST_P(lost_frames, everybody_cut_off_behind_every_answer) {
  at_every_frame(
      [&](std::size_t n) {
        proxy.cut_after_server_frames(n, link_proxy::afterwards::refuse_until_heal);
      },
      12);
}

// The second cut comes while the first one is being mended, or soon after.
TEST_P(lost_frames, cut_twice) {
  for (std::size_t apart = 0; apart < 6; ++apart)
    at_every_frame(
        [&](std::size_t n) {
          proxy.cut_after_client_frames(n);
          proxy.cut_after_server_frames(n + apart);
        },
        12);
  EXPECT_GT(hit_twice, 50u);
}

// One request is done and its answer lost, or one is lost, or both.
TEST_P(lost_frames, swallowed_at_every_kind_of_request) {
  const std::vector<std::int32_t> kinds{opcode::remove,    opcode::get,   opcode::sync,
                                        opcode::children,  opcode::multi, opcode::create,
                                        opcode::ephemerals};
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> faults;
  for (const auto answer : kinds)
    for (const auto request : kinds) {
      proxy.reset_counters();
      SCOPED_TRACE("answer to " + std::to_string(answer) + ", request " + std::to_string(request));
      proxy.swallow_reply_to(answer);
      proxy.swallow_request(request);
      go_through_everything();
      if (HasFatalFailure()) return;
      faults[{answer, request}] = proxy.faults();
    }
  // What is asked only after a lost answer is lost, too, or the second fault would show nothing.
  const auto release = GetParam() ? opcode::multi : opcode::remove;
  for (const auto lost : {opcode::create, release}) {
    EXPECT_GT((faults[{lost, lost}]), 1u);
    EXPECT_GT((faults[{lost, opcode::sync}]), 1u);
  }
  EXPECT_GT((faults[{opcode::create, opcode::ephemerals}]), 1u);
}

}  // namespace
}  // namespace conclave::testing
