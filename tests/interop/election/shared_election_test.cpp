// One election with candidates of different libraries, each in its own process.
#include <algorithm>
#include <fstream>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "conclave/election.hpp"
#include "fixture.hpp"

namespace conclave::testing {
namespace {

constexpr int cycles = 20;

// A recipe of another library, and the layout that conclave needs to share it.
struct peer {
  library from;
  std::string recipe;
  std::string layout_name;
  layout names;
  bool shows_all = true;  // not only the leader

  std::string id() const { return std::string{name_of(from)} + "-0"; }
};
void PrintTo(const peer& p, std::ostream* out) { *out << p.recipe; }

class shared_election : public lock_interop_test, public ::testing::WithParamInterface<peer> {
 protected:
  contest default_contest() const {
    contest c;
    c.path = path;
    c.layout_name = GetParam().layout_name;
    c.kinds = "leader";
    return c;
  }
  contest forever(std::chrono::milliseconds session) const {
    auto c = default_contest();
    c.hold = "forever";
    c.session_timeout = session;
    return c;
  }
  election_options ours() const {
    election_options o;
    o.layout = GetParam().names;
    o.id = "onlooker";
    return o;
  }
  std::vector<std::string> seen_by_us() {
    std::vector<std::string> ids;
    for (const auto& each : election{zk, path, ours()}.candidates()) ids.push_back(each.owner);
    return ids;
  }
  std::vector<std::string> seen_by_them() {
    const temporary_directory folder;
    auto c = default_contest();
    c.cycles = 0;
    c.counter = folder.path() / "candidates";
    contender_process{GetParam().from, c}.finish();
    std::vector<std::string> ids;
    std::ifstream in{c.counter};
    for (std::string id; std::getline(in, id);) ids.push_back(id);
    return ids;
  }
  void expect_seen(std::vector<std::string> ids) {
    EXPECT_EQ(seen_by_us(), ids);
    const auto leader = election{zk, path, ours()}.leader();
    ASSERT_TRUE(leader);
    EXPECT_EQ(leader->owner, ids.front());
    if (!GetParam().shows_all) ids.resize(1);
    EXPECT_EQ(seen_by_them(), ids);
  }

  std::string path = fresh_node(zk, "shared-election");
};
INSTANTIATE_TEST_SUITE_P(
    peers, shared_election,
    ::testing::Values(peer{library::curator, "LeaderLatch", "leader_latch", layout::leader_latch()},
                      peer{library::curator, "LeaderSelector", "curator", layout::curator()},
                      peer{library::zookeeper, "LeaderElectionSupport", "election",
                           layout::election(), false},
                      peer{library::kazoo, "Election", "kazoo", layout::kazoo()}),
    [](const auto& i) { return i.param.recipe; });

TEST_P(shared_election, has_one_leader_at_a_time_and_every_candidate_leads) {
  // A node that the test creates is first until all candidates have entered the wait queue.
  const auto gate = zk.create(path + '/' + GetParam().names.name_prefix(layout::role::exclusive),
                              "gate", create_mode::ephemeral_sequential)
                        .path;
  auto c = default_contest();
  c.cycles = cycles;
  c.hold = "3";
  std::vector<std::unique_ptr<contender_process>> processes;
  for (const auto l : {GetParam().from, GetParam().from, library::conclave, library::conclave})
    processes.push_back(std::make_unique<contender_process>(l, c));
  wait_for_contenders(path, processes.size() + 1);
  zk.remove(gate);
  held_history all;
  for (const auto& p : processes)
    for (auto& i : p->finish()) all.push_back(std::move(i));
  EXPECT_EQ(all.size(), processes.size() * cycles);
  sort_by_acquisition(all);
  EXPECT_EQ(forbidden_overlaps(all), std::vector<std::string>{});
  EXPECT_EQ(tokens_out_of_order(all), std::vector<std::string>{});
  const auto n = count_hand_offs(all);
  RecordProperty("hand_offs_from_us", n.from_us);
  RecordProperty("hand_offs_to_us", n.to_us);
  EXPECT_GT(n.from_us, 0);
  EXPECT_GT(n.to_us, 0);
  EXPECT_TRUE(zk.children(path).names.empty());
}

// Leaders are killed, and candidates of the other library follow. In between, both libraries show
// the same leader and the same candidates.
TEST_P(shared_election, continues_with_the_other_library_when_a_leader_is_killed) {
  constexpr auto session = 2s;  // short, because it must expire
  auto theirs = std::make_unique<contender_process>(GetParam().from, forever(session));
  ASSERT_TRUE(theirs->acquired());
  contender_process ours{library::conclave, forever(session)};
  wait_for_contenders(path, 2);
  expect_seen({GetParam().id(), "conclave-0"});
  EXPECT_FALSE(ours.reported());

  const auto killed_at = theirs->kill();
  const auto we_lead = ours.acquired();
  ASSERT_TRUE(we_lead);
  EXPECT_GT(*we_lead, killed_at);

  theirs = std::make_unique<contender_process>(GetParam().from, forever(session));
  wait_for_contenders(path, 2);
  expect_seen({"conclave-0", GetParam().id()});
  EXPECT_FALSE(theirs->reported());
  const auto we_died = ours.kill();
  const auto they_lead = theirs->acquired();
  ASSERT_TRUE(they_lead);
  EXPECT_GT(*they_lead, we_died);
  theirs->kill();
}

// A conclave observer reports leaders of the other library.
TEST_P(shared_election, observers_report_leaders_of_every_library) {
  inbox<std::string> reports;
  const election_observer watching{zk, path,
                                   [&](const std::optional<contender_info>& leader) {
                                     reports.put(leader ? leader->owner : "nobody");
                                   },
                                   GetParam().names};
  EXPECT_EQ(reports.take(), "nobody");
  contender_process theirs{GetParam().from, forever(2s)};
  EXPECT_EQ(reports.take(), GetParam().id());
  theirs.kill();
  EXPECT_EQ(reports.take(), "nobody");
}

}  // namespace
}  // namespace conclave::testing
