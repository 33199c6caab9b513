// Verifies that the judge reports violations and accepts correct histories.
#include "chaos/judge.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "chaos/report.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::chaos {
namespace {

// A run of a few processes, with times in milliseconds.
class judged : public ::testing::Test {
 protected:
  judged() { run.asked.workers = 4; }

  std::size_t process(const std::string& name, const std::string& job, std::size_t slot) {
    process_record l;
    l.name = name;
    l.job = job;
    l.slot = slot;
    l.session = std::chrono::milliseconds{1000};
    l.file = folder.path() / name;
    run.processes.push_back(l);
    return run.processes.size() - 1;
  }
  void write_event(std::size_t who, nanoseconds at, std::string_view what,
                   std::initializer_list<std::string> words = {}) {
    history{run.processes.at(who).file}.write(at * millisecond, what, words);
  }
  void granted(std::size_t who, nanoseconds at, std::int64_t token, nanoseconds until,
               const std::string& mode = "exclusive",
               const std::string& resource = "/chaos/mutex") {
    write_event(who, at, "granted",
                {std::to_string(token), resource, std::to_string(token), mode,
                 std::to_string(100 + who), std::to_string(until * millisecond)});
  }
  void ended(std::size_t who, nanoseconds at, std::int64_t token, const std::string& how) {
    write_event(who, at, "ended", {std::to_string(token), how});
  }
  std::vector<std::string> violations() {
    std::vector<std::string> all;
    for (const auto& v : judge(run).violations) all.push_back(v.what);
    return all;
  }
  using texts = std::vector<std::string>;

  testing::temporary_directory folder;
  run_record run;
};

TEST_F(judged, two_holders) {
  const auto a = process("a", "mutex", 0);
  const auto b = process("b", "mutex", 1);
  granted(a, 10, 1, 1000);
  granted(b, 20, 2, 1000);
  ended(a, 30, 1, "released");
  EXPECT_EQ(violations(), texts{"b was granted /chaos/mutex while a held it for 10 ms more"});
  const auto v = judge(run);
  EXPECT_EQ(v.violations.at(0).lines.size(), 3u);
  EXPECT_NE(markdown(run, v).find("FAILED"), std::string::npos);
}

TEST_F(judged, a_hold_ends_with_its_release_its_time_or_its_holder) {
  const auto a = process("a", "mutex", 0);
  const auto b = process("b", "mutex", 1);
  granted(a, 10, 1, 1000);
  ended(a, 19, 1, "released");
  granted(b, 20, 2, 100);
  write_event(b, 30, "until", {"2", std::to_string(200 * millisecond)});
  granted(a, 201, 3, 1000);
  run.processes[a].killed = 300 * millisecond;
  granted(b, 301, 4, 1000);
  EXPECT_EQ(violations(), texts{});
  EXPECT_EQ(judge(run).recipes.at("mutex").hand_offs, 3u);
  EXPECT_EQ(judge(run).shortest_gap, 1 * millisecond);
}

TEST_F(judged, its_time_counts_as_last_known) {
  const auto a = process("a", "mutex", 0);
  const auto b = process("b", "mutex", 1);
  granted(a, 10, 1, 100);
  write_event(a, 30, "until", {"1", std::to_string(200 * millisecond)});
  granted(b, 150, 2, 1000);
  EXPECT_EQ(violations().size(), 1u);
}

TEST_F(judged, readers_share_also_after_a_downgrade) {
  const auto a = process("a", "shared", 0);
  const auto b = process("b", "shared", 1);
  const auto c = process("c", "shared", 2);
  granted(a, 10, 1, 1000, "exclusive", "/chaos/shared");
  write_event(a, 20, "downgrading", {"1"});
  granted(b, 21, 3, 1000, "shared", "/chaos/shared");
  granted(c, 22, 2, 1000, "shared", "/chaos/shared");
  EXPECT_EQ(violations(), texts{});
}

TEST_F(judged, permits_are_counted) {
  for (std::size_t i = 0; i < 3; ++i)
    granted(process(std::string(1, static_cast<char>('a' + i)), "semaphore", i),
            10 + static_cast<nanoseconds>(i), static_cast<std::int64_t>(i + 1), 1000, "2",
            "/chaos/semaphore");
  EXPECT_EQ(violations(), texts{"c is number 3 to hold /chaos/semaphore, of 2 for 988 ms more"});
}

TEST_F(judged, tokens_rise) {
  const auto a = process("a", "mutex", 0);
  granted(a, 10, 2, 1000);
  ended(a, 11, 2, "released");
  granted(a, 12, 1, 1000);
  EXPECT_EQ(violations(), texts{"a was granted /chaos/mutex with token 1 after 2"});
}

// A kept lock is granted again with the same token, but only to the same process, and only as long
// as no other process was granted the lock.
TEST_F(judged, local_grants) {
  const auto a = process("a", "mutex", 0);
  const auto b = process("b", "mutex", 1);
  for (const auto at : {10, 20, 30}) {
    granted(a, at, 1, 1000);
    ended(a, at + 5, 1, "released");
  }
  EXPECT_EQ(violations(), texts{});
  EXPECT_EQ(judge(run).recipes.at("mutex").local_grants, 2u);
  EXPECT_EQ(judge(run).recipes.at("mutex").hand_offs, 0u);
  granted(b, 40, 1, 1000);
  ended(b, 45, 1, "released");
  EXPECT_EQ(violations(), texts{"b was granted /chaos/mutex with token 1 after 1"});
  granted(b, 50, 2, 1000);
  ended(b, 55, 2, "released");
  granted(a, 60, 1, 1000);
  EXPECT_EQ(violations().size(), 2u) << "a kept the lock although b was granted it";
  EXPECT_EQ(judge(run).recipes.at("mutex").local_grants, 2u);
}

TEST_F(judged, a_local_grant_during_another_hold_is_a_violation) {
  const auto a = process("a", "mutex", 0);
  granted(a, 10, 1, 1000);
  write_event(a, 20, "granted",
              {"2", "/chaos/mutex", "1", "exclusive", "100", std::to_string(1000 * millisecond)});
  EXPECT_EQ(violations().size(), 1u);
}

class ended_early_by_a_server : public judged {
 protected:
  ended_early_by_a_server() {
    a = process("a", "mutex", 0);
    granted(a, 1000, 1, 2900);
    granted(process("b", "mutex", 1), 2500, 2, 9000);
    ended(a, 2600, 1, "lost");
    write_event(a, 2550, "refused", {"/chaos/mutex", "1", "1", "held"});
    run.expiries.push_back({2490 * millisecond, 100});
    fault f;
    f.at = 1600 * millisecond;
    f.kind = "kill -9 of a follower";
    f.of_server = true;
    run.faults.push_back(f);
  }
  std::size_t a = 0;
};

TEST_F(ended_early_by_a_server, is_the_limit_of_an_ensemble) {
  const auto v = judge(run);
  EXPECT_EQ(violations(), texts{});
  ASSERT_EQ(v.allowed.size(), 1u);
  EXPECT_NE(v.allowed[0].what.find("the servers ended its session 10 ms before, 890 ms after: kill "
                                   "-9 of a follower"),
            std::string::npos)
      << v.allowed[0].what;
}

TEST_F(ended_early_by_a_server, is_a_violation_on_one_server) {
  run.asked.ensemble = false;
  EXPECT_EQ(violations().size(), 2u) << "two holders, and a refused write of one that held it";
}

TEST_F(ended_early_by_a_server, is_a_violation_if_no_server_was_harmed_before) {
  run.faults[0].at = 100 * millisecond;
  EXPECT_EQ(violations().size(), 2u);
}

TEST_F(ended_early_by_a_server, is_a_violation_if_the_servers_did_not_end_it) {
  run.expiries[0].session = 7;
  EXPECT_EQ(violations().size(), 2u);
}

TEST_F(judged, stale_writes) {
  const auto a = process("a", "mutex", 0);
  granted(a, 10, 1, 1000);
  write_event(a, 2000, "refused", {"/chaos/mutex", "1", "1", "stale"});
  EXPECT_EQ(violations(), texts{});
  write_event(a, 2001, "accepted", {"/chaos/mutex", "1", "1"});
  EXPECT_EQ(violations(), texts{"a wrote to /chaos/mutex with token 1 after a newer one"});
  EXPECT_EQ(judge(run).stale_tried, 2u);
  EXPECT_EQ(judge(run).stale_refused, 1u);
}

TEST_F(judged, queues) {
  const auto p = process("p", "push", 0);
  const auto c = process("c", "pop", 1);
  for (const auto* item : {"one", "two", "three"}) {
    write_event(p, 1, "pushing", {item});
    write_event(p, 2, "pushed", {item, "done"});
  }
  write_event(p, 3, "pushing", {"four"});  // killed meanwhile
  write_event(c, 4, "popping");
  write_event(c, 5, "popped", {"one"});
  write_event(c, 6, "popping");
  write_event(c, 7, "pop-unknown");
  EXPECT_EQ(violations(), texts{"queue: 2 items are missing, 1 may be"});
  const auto d = process("d", "pop", 2);
  write_event(d, 8, "popping");  // killed meanwhile
  EXPECT_EQ(violations(), texts{});
  write_event(d, 9, "popped", {"one"});
  EXPECT_EQ(violations().size(), 2u) << "one is there twice, and two are missing again";
}

TEST_F(judged, claims_are_delivered_when_completed) {
  const auto p = process("p", "push-claims", 0);
  const auto c = process("c", "claim", 1);
  write_event(p, 1, "pushing", {"one"});
  write_event(p, 2, "pushed", {"one", "done"});
  write_event(c, 3, "completing", {"one"});
  write_event(c, 4, "completed", {"one", "lost"});
  EXPECT_EQ(violations(), texts{"claims: 1 items are missing, 0 may be"});
  write_event(c, 5, "completing", {"one"});
  EXPECT_EQ(violations(), texts{}) << "killed meanwhile";
  write_event(c, 6, "completed", {"one", "done"});
  EXPECT_EQ(violations(), texts{});
}

TEST_F(judged, faults_that_hit_a_holder_are_counted) {
  const auto a = process("a", "mutex", 0);
  granted(a, 10, 1, 1000);
  run.processes[a].killed = 20 * millisecond;
  run.faults.push_back({20 * millisecond, "kill -9", "a", {0}});
  run.faults.push_back({21 * millisecond, "disconnect", "a", {0}});
  run.faults.push_back({15 * millisecond, "disconnect", "b", {1}});
  const auto v = judge(run);
  EXPECT_EQ(v.faults.at("kill -9").hit_a_holder, 1u);
  EXPECT_EQ(v.faults.at("disconnect").hit_a_holder, 0u);
  EXPECT_EQ(v.faults.at("disconnect").all, 2u);
}

TEST_F(judged, a_run_in_which_nothing_happened_is_not_good) {
  const auto v = judge(run);
  EXPECT_TRUE(v.violations.empty());
  EXPECT_FALSE(v.good());
  const texts& missing = v.not_covered;
  EXPECT_NE(std::find(missing.begin(), missing.end(), "no kept lock was granted locally"),
            missing.end());
}

TEST_F(judged, what_others_found_counts) {
  run.problems.emplace_back("a gets nothing any more");
  EXPECT_EQ(violations(), run.problems);
}

}  // namespace
}  // namespace conclave::chaos
