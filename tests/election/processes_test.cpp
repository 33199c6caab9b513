// Leaders in separate processes that are killed, stopped beyond the session timeout or
// disconnected.
#include <csignal>
#include <iostream>
#include <set>

#include <boost/asio/use_future.hpp>

#include "conclave/election.hpp"
#include "conclave/server.hpp"
#include "locks/lock_user_process.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

constexpr auto session = 1000ms;

class leaders : public ::testing::Test {
 protected:
  std::unique_ptr<lock_user> start(const std::string& role, int number,
                                   const std::string& address) {
    return std::make_unique<lock_user>(storage, role, address, session, wait_queue.path(), false,
                                       number);
  }
  std::unique_ptr<lock_user> start(const std::string& role, int number) {
    return start(role, number, shared_server().connect_string());
  }

  fenced_storage storage;
  lock_observer wait_queue{"leaders"};
};

TEST_F(leaders, stale_writes_of_a_stopped_leader_are_refused_and_it_is_notified) {
  auto first = start("lead", 1);
  const auto old = storage.next_of(1);
  ASSERT_TRUE(old);
  auto second = start("lead", 2);
  ASSERT_TRUE(wait_queue.wait_for(2));
  first->process().pause();
  const auto newer = storage.next_of(2);
  ASSERT_TRUE(newer) << "the next one leads";
  EXPECT_TRUE(newer->accepted);
  EXPECT_GT(newer->token, old->token);
  EXPECT_EQ(storage.refused(), 0u);
  first->process().resume();
  const auto ended = first->process().wait(wait_limit);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->code, 0) << "3: loss not reported; 4: reported, but held() returned true";
  EXPECT_GT(storage.refused(), 0u) << "its stale write was never tried";
  EXPECT_TRUE(second->process().running());
}

// Kills, stops and disconnects the current leader.
TEST_F(leaders, exclusion_under_faults_that_hit_the_leader) {
  constexpr int count = 4;
  std::vector<std::unique_ptr<link_proxy>> proxies;
  std::vector<std::unique_ptr<lock_user>> all;
  std::map<int, std::size_t> where;
  for (int i = 0; i < count; ++i) {
    proxies.push_back(std::make_unique<link_proxy>(shared_server().port()));
    all.push_back(start("campaign", i, proxies.back()->connect_string()));
    where[i] = static_cast<std::size_t>(i);
  }
  std::vector<hold_interval> holds;
  std::size_t hits = 0;
  const auto collect = [&](lock_user& c, moment killed_at) {
    const auto r = c.report(killed_at);
    hits += r.suspended + r.lost + r.open;
    holds.insert(holds.end(), r.holds.begin(), r.holds.end());
  };
  int next_number = count;
  const auto let_others_lead = [&] {
    const auto until = now() + session + session / 2;
    while (now() < until && storage.next()) {
    }
  };
  for (int round = 0; round < 6; ++round) {
    const auto found = storage.find_last_writer(where);
    ASSERT_TRUE(found != where.end());
    const auto [leader, slot] = *found;
    if (round % 3 == 0) {
      all[slot]->process().pause();
      let_others_lead();
      all[slot]->process().resume();
    } else if (round % 3 == 1) {
      proxies[slot]->disconnect();
      let_others_lead();
      proxies[slot]->heal();
    } else {
      all[slot]->process().kill(SIGKILL);
      const auto killed_at = now();
      ASSERT_TRUE(all[slot]->process().wait(wait_limit));
      collect(*all[slot], killed_at);
      where.erase(leader);
      where[next_number] = slot;
      all[slot] = start("campaign", next_number++, proxies[slot]->connect_string());
    }
  }
  for (const auto& [number, slot] : where) EXPECT_TRUE(storage.next_of(number)) << number;
  std::set<std::int64_t> leaderships;  // by token
  while (leaderships.size() <= 50) {
    const auto write = storage.next();
    ASSERT_TRUE(write) << "nobody leads";
    leaderships.insert(write->token);
  }
  for (auto& each : all) each->process().kill(SIGTERM);
  for (auto& each : all) {
    const auto ended = each->process().wait(wait_limit);
    ASSERT_TRUE(ended) << "the process hangs";
    EXPECT_EQ(ended->code, 0);
    collect(*each, moment::min());
  }
  EXPECT_TRUE(wait_queue.wait_for(0));
  EXPECT_GT(hits, 0u) << "no fault has hit a leader";
  EXPECT_GT(holds.size(), 50u);
  expect_exclusion(holds);
}

// The time from kill -9 of the leader until the next leader, in milliseconds.
double time_of_hand_off(const fenced_storage& storage, const std::string& host,
                        const std::string& path, std::chrono::milliseconds timeout) {
  lock_user leader{storage, "lead", host, timeout, path, false, 1};
  client zk{host};
  election next{zk, path};
  inbox<moment> elected;
  for (auto led = next.leader(); !led || led->owner != "1"; led = next.leader()) zk.sync(path);
  next.async_campaign([&](error_code ec) {
    if (!ec) elected.put(now());
  });
  while (next.candidates().size() < 2) zk.sync(path);
  const auto killed = now();
  leader.process().kill(SIGKILL);
  const auto when = elected.take();
  EXPECT_TRUE(when);
  next.async_resign(boost::asio::use_future).get();
  return std::chrono::duration<double, std::milli>(when.value_or(moment::max()) - killed).count();
}

TEST_F(leaders, the_next_candidate_leads_after_the_session_of_a_killed_leader_expires) {
  std::cout << "hand-off after kill -9, session timeout " << session.count() << " ms:";
  for (int i = 0; i < 3; ++i) {
    const auto ms =
        time_of_hand_off(storage, shared_server().connect_string(), wait_queue.path(), session);
    std::cout << ' ' << ms << " ms" << std::flush;
    EXPECT_LT(ms, 10'000);
  }
  std::cout << '\n';
}

// The kernel reports the end of the process at once, independent of the session timeout.
TEST_F(leaders, on_a_unix_socket_the_next_candidate_leads_at_once) {
  const temporary_directory folder;
  server_options options;
  options.socket = folder.path() / "socket";
  const server running{options};
  const auto host = "unix:" + options.socket.string();
  std::cout << "hand-off after kill -9 on a Unix socket:";
  for (int i = 0; i < 5; ++i) {
    const auto ms = time_of_hand_off(storage, host, "/leaders", 30s);
    std::cout << ' ' << ms << " ms" << std::flush;
    EXPECT_LT(ms, 5'000);
  }
  std::cout << '\n';
}

}  // namespace
}  // namespace conclave::testing
