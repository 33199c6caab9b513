// Histories from a seed: clients that lock, hold, unlock and give up, over links that break, on a
// server that restarts. The referee watches; at the end everything heals, and everybody must get
// through and leave nothing behind.
#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

#include "attempt.hpp"
#include "trouble.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;

struct tally {
  int histories = 0, grants = 0, cuts = 0, restarts = 0, pauses = 0, losses = 0, given_up = 0;
  int holders_hit = 0, holders_expired = 0;
};

class history {
 public:
  history(std::uint64_t seed, bool tickets, tally& t)
      : random_{seed * 2 + tickets}, tally_{t}, contest_{options(), tickets} {
    contest_.referee().quiet = true;
    auto& hand = contest_.world.by_hand();
    if (chance(2)) hand.create("/locks");
    parents_ = chance(4) ? 2 : 1;
  }

  // What went wrong, one line for each.
  std::vector<std::string> run() {
    auto& w = contest_.world;
    for (std::size_t i = 0; i < w.clients(); ++i) act(i);
    trouble_.begin(300ms);
    w.advance(end_);
    over_ = true;
    trouble_.heal();
    tally_.cuts += trouble_.count();
    tally_.restarts += trouble_.restarts();
    tally_.pauses += trouble_.pauses();
    const bool all_done = w.run_until([&] { return busy_ == 0; }, 10min);
    auto& r = contest_.referee();
    w.advance(2s);
    r.expect_no_orphans();
    auto wrong = r.complaints();
    if (!all_done) {
      wrong.push_back("somebody is stuck");
      for (const auto& a : r.attempts())
        if (!a->done())
          wrong.push_back("  client " + std::to_string(a->client().index()) + " " + a->path() +
                          (a->left()      ? " leaves"
                           : a->holding() ? " holds"
                                          : " waits"));
    }
    for (const auto& a : r.attempts()) {
      const auto why = a->failure();
      if (a->failure() && !a->left()) wrong.push_back(a->path() + " failed: " + name_of(why));
      tally_.losses += a->count("lost lock_lost") + a->count("lost session_expired");
      tally_.given_up += a->left() && !a->was_granted();
    }
    ++tally_.histories;
    tally_.grants += r.grants();
    tally_.holders_expired += r.expiries_of_holders();
    return wrong;
  }

 private:
  world_options options() {
    world_options o;
    o.seed = random_();
    o.clients = 2 + draw(4);
    o.session_timeout = chance(2) ? 4s : 30s;
    o.connect_wait = 10min;
    o.least_delay = 100us;
    o.most_delay = chance(2) ? 200us : 20ms;
    return o;
  }
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }
  bool chance(std::uint64_t one_in) { return draw(one_in) == 0; }
  instant within(instant most) {
    return instant{static_cast<std::int64_t>(draw(static_cast<std::uint64_t>(most.count())))};
  }

  // One client's user: again and again until the time is over.
  void act(std::size_t i) {
    contest_.world.after(within(200ms), [this, i] {
      if (over_ || contest_.world.client(i).paused()) return over_ ? void() : act(i);
      ++busy_;
      auto t = contest_.terms;
      if (parents_ == 2 && chance(2)) t.parents.push_back("/locks/two");
      if (parents_ == 2 && chance(2)) std::reverse(t.parents.begin(), t.parents.end());
      const auto a = contest_.begin(i, t);
      const std::weak_ptr<attempt> weak = a;
      a->when_gone = [this, i] {
        --busy_;
        act(i);
      };
      a->when_granted = [this, weak] {
        leave_after(chance(3) ? 0ms : within(chance(8) ? 8s : 300ms), weak);
      };
      if (chance(4)) leave_after(within(500ms), weak);
    });
  }

  void leave_after(instant d, const std::weak_ptr<attempt>& weak) {
    contest_.world.after(d, [this, weak] {
      const auto a = weak.lock();
      if (!a || a->done() || a->left()) return;
      if (a->client().paused()) return leave_after(10ms, weak);
      a->leave();
    });
  }

  // A fault that never hits a holder shows little.
  simulated::client* victim() {
    if (chance(2))
      for (const auto& a : contest_.referee().attempts())
        if (a->holding()) {
          ++tally_.holders_hit;
          return &a->client();
        }
    return nullptr;
  }

  std::mt19937_64 random_;
  tally& tally_;
  simulated::contest contest_;
  trouble trouble_{contest_.world,
                   random_(),
                   {wire::opcode::create2, wire::opcode::multi, wire::opcode::remove},
                   [this] { return victim(); }};
  std::size_t parents_ = 1;
  instant end_ = chance(4) ? 20s : 4s;
  bool over_ = false;
  int busy_ = 0;
};

bool holds(std::uint64_t seed, bool tickets, tally& t) {
  const auto wrong = history{seed, tickets, t}.run();
  if (wrong.empty()) return true;
  std::string text;
  for (std::size_t i = 0; i < wrong.size() && i < 8; ++i) text += "\n  " + wrong[i];
  ADD_FAILURE() << "seed " << seed << ", tickets " << (tickets ? "on" : "off") << text
                << "\nto replay: CONCLAVE_SEED=" << seed
                << " recipes_test --gtest_filter=histories.*";
  return false;
}

TEST(histories, exclude_and_leave_nothing_behind_whatever_breaks) {
  tally t;
  if (const auto* one = std::getenv("CONCLAVE_SEED")) {
    const auto seed = std::strtoull(one, nullptr, 10);
    for (const bool tickets : {true, false}) holds(seed, tickets, t);
    return;
  }
  const auto* more = std::getenv("CONCLAVE_SEEDS");
  const std::uint64_t seeds = more ? std::strtoull(more, nullptr, 10) : 1000;
  int failed = 0;
  const auto began = std::chrono::steady_clock::now();
  for (std::uint64_t seed = 1; seed <= seeds && failed < 5; ++seed)
    for (const bool tickets : {true, false}) failed += !holds(seed, tickets, t);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::cout << t.histories << " histories in " << took.count() << " s, " << t.grants << " grants, "
            << t.cuts << " faults (" << t.holders_hit << " hit a holder), " << t.restarts
            << " restarts, " << t.pauses << " pauses, " << t.losses << " losses, " << t.given_up
            << " gave up, " << t.holders_expired << " holders expired\n";
  // A history in which nothing happens shows nothing.
  EXPECT_GT(t.grants, t.histories);
  EXPECT_GT(t.holders_hit, 0);
  EXPECT_GT(t.losses, 0);
  EXPECT_GT(t.given_up, 0);
}

}  // namespace
}  // namespace conclave::simulated
