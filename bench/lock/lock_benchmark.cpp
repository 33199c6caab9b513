// bench_lock: our locks beside those of Curator, kazoo and ZooKeeper, on one Apache ZooKeeper.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driver/recipe_benchmark.hpp"
#include "lock_rounds.hpp"
#include "lock_variants.hpp"
#include "plots.hpp"

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;
using variant_list = std::vector<const lock_variant*>;

constexpr std::size_t sessions_of_waiters = 10;
// A variant with a longer round has one timed round only.
constexpr auto long_round = 6s;

constexpr figure_column columns[] = {
    {figure::operations_per_second, "operations/s", shown::median_and_spread},
    {figure::lock_us, "lock µs", shown::median},
    {figure::latency_us, "latency µs", shown::median},
    {figure::latency_p90_us, "p90 µs", shown::median},
    {figure::latency_p99_us, "p99 µs", shown::median},
    {figure::requests, "requests", shown::median},
    {figure::replies, "replies", shown::median},
    {figure::events, "of them events", shown::median},
    {figure::frames, "frames", shown::median},
    {figure::bytes_to_server, "bytes sent", shown::median},
    {figure::bytes_to_client, "received", shown::median},
    {figure::bytes, "bytes", shown::median},
};

std::vector<std::string> names_of(const variant_list& all) {
  std::vector<std::string> names;
  for (const auto* v : all) names.push_back(v->name);
  return names;
}

std::vector<round_source> sources_of(const variant_list& all,
                                     const std::function<figures(const lock_variant&)>& run) {
  std::vector<round_source> sources;
  for (const auto* v : all) sources.push_back({v->name, [v, run] { return run(*v); }});
  return sources;
}

// All variants that ran with waiters, in the order of the first series.
std::vector<std::string> variants_with_waiters(const results& found) {
  std::vector<std::string> all;
  for (const auto waiters : waiter_counts)
    if (const auto* s = found.find(series_name::waiters(waiters)))
      for (const auto& name : s->variants)
        if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
  return all;
}

std::optional<double> rate_ratio(const results& found, const std::string& name,
                                 const lock_variant& ours, const lock_variant& theirs) {
  return found.ratio(name, figure::operations_per_second, ours.name, theirs.name);
}

// The cost of a hand-off with 10,000 waiters divided by that with 10.
std::optional<double> growth(const results& found, const std::string& suffix, const char* figure) {
  const auto& name = variant::asynchronous.name;
  const auto most = found.median(series_name::waiters(10'000) + suffix, name, figure);
  const auto fewest = found.median(series_name::waiters(10) + suffix, name, figure);
  if (!most || !fewest) return std::nullopt;
  return *most / *fewest;
}

class lock_benchmark final : public recipe_benchmark {
 public:
  description about() const override {
    return {"lock",
            "Compares Conclave's locks with those of Curator, kazoo and ZooKeeper's recipes, in\n"
            "alternating rounds on one Apache ZooKeeper, which it starts itself and stops again.",
            "few and short rounds, and peers with at most 100 waiters",
            "cycles, hand-offs, waiters"};
  }

  void use_quick_rounds() override {
    options.rounds = 2;
    most_waiters_rounds_ = 1;
    most_waiters_of_peers_ = 100;
    warm_up_ = 100ms;
    measured_ = 300ms;
  }

  environment prepare() override {
    rounds_.emplace(force_sync(), cpu(),
                    peer_programs{CONCLAVE_BENCH_JAVA, CONCLAVE_BENCH_CLASS_PATH,
                                  "conclave.bench.lock.LockWorker", CONCLAVE_BENCH_KAZOO});
    auto where = common_environment(
        rounds_->server(), "Curator " + version_of_jar("curator-recipes") +
                               " InterProcessMutex, kazoo " + version_of_kazoo() +
                               " Lock, ZooKeeper " + version_of_jar("zookeeper-recipes-lock") +
                               " WriteLock");
    where.emplace_back("WriteLock",
                       "may miss the release of its predecessor; here it is woken after 250 ms");
    where.emplace_back("contestants", "two processes of each library, started once");
    where.emplace_back("figures",
                       "medians of the rounds (smallest–largest); latency: of a whole cycle of one"
                       " client, otherwise from the call of unlock to the return of the next lock");
    return where;
  }

  void run(round_runner& runner) override {
    warm_up(runner);
    if (runner.is_wanted(series_name::cycles))
      run_both_series(runner, series_name::cycles, "Lock and unlock, one client",
                      {&variant::conclave, &variant::asynchronous, &variant::curator,
                       &variant::kazoo, &variant::write_lock},
                      1);
    for (const auto clients : client_counts)
      if (runner.is_wanted(series_name::hand_offs(clients)))
        run_both_series(
            runner, series_name::hand_offs(clients),
            "Hand-offs, " + std::to_string(clients) + " clients",
            {&variant::conclave, &variant::curator, &variant::kazoo, &variant::write_lock},
            clients);
    run_waiters_series(runner);
  }

  void print_tables(const results& found) const override {
    for (const auto& s : found.all)
      if (!s.name.starts_with(series_name::waiters_prefix)) print_table(s, columns);
    const auto variants = variants_with_waiters(found);
    const auto print_by_waiters = [&](const char* title, const char* figure,
                                      const std::string& suffix = {}) {
      std::vector<series_column> by_waiters;
      for (const auto waiters : waiter_counts)
        by_waiters.push_back({std::to_string(waiters), series_name::waiters(waiters) + suffix});
      print_table(found, std::string(title) + ", by the number of waiters", figure, by_waiters,
                  variants);
    };
    const auto& traffic = series_name::traffic_suffix;
    print_by_waiters("µs for each hand-off", figure::us_per_operation);
    print_by_waiters("µs from unlock to the next lock, median", figure::latency_us);
    print_by_waiters("99th percentile of the same", figure::latency_p99_us);
    print_by_waiters("Frames for each hand-off", figure::frames, traffic);
    print_by_waiters("Events for each hand-off", figure::events, traffic);
    print_by_waiters("Bytes for each hand-off", figure::bytes, traffic);
  }

  void add_goals(const results& found, goal_list& goals) const override {
    using enum comparison;
    const auto alone = rate_ratio(found, series_name::cycles, variant::conclave, variant::curator);
    goals.add("lock-uncontended-ratio-to-curator", alone, at_least, 2);
    goals.add("lock-uncontended-ratio-to-curator-hoped-for", alone, at_least, 3);
    goals.add("lock-hand-offs-8-clients-ratio-to-curator",
              rate_ratio(found, series_name::hand_offs(8), variant::conclave, variant::curator),
              at_least, 2);
    const auto& traffic = series_name::traffic_suffix;
    goals.add("lock-frames-10000-to-10-waiters", growth(found, traffic, figure::frames), at_most,
              1.02);
    goals.add("lock-bytes-10000-to-10-waiters", growth(found, traffic, figure::bytes), at_most,
              1.02);
    goals.add("lock-time-10000-to-10-waiters", growth(found, "", figure::us_per_operation), at_most,
              1.5);
  }

  void add_notes(const results& found, note_list& notes) const override {
    const std::pair<const char*, const lock_variant*> peers[] = {
        {"curator", &variant::curator},
        {"kazoo", &variant::kazoo},
        {"write-lock", &variant::write_lock}};
    for (const auto& [name, peer] : peers) {
      const auto to = std::string("-ratio-to-") + name;
      notes.add("lock-uncontended" + to,
                rate_ratio(found, series_name::cycles, variant::conclave, *peer));
      notes.add("lock-uncontended-async" + to,
                rate_ratio(found, series_name::cycles, variant::asynchronous, *peer));
      for (const auto clients : client_counts)
        notes.add("lock-hand-offs-" + std::to_string(clients) + "-clients" + to,
                  rate_ratio(found, series_name::hand_offs(clients), variant::conclave, *peer));
    }
  }

  std::vector<plot> plots(const results& found) const override { return lock_plots(found); }

 private:
  round_plan plan_for(const lock_variant& v, std::size_t contenders) const {
    return {&v, contenders, contenders, warm_up_, measured_, 20};
  }

  round_plan plan_with_waiters(const lock_variant& v, std::size_t waiters) const {
    auto plan = plan_for(v, waiters + 1);
    if (!v.needs_session_per_contender)
      plan.sessions = std::min(sessions_of_waiters, plan.contenders);
    plan.least_operations = 5;
    return plan;
  }

  // For Java's compilers, in all workers and in the server.
  void warm_up(round_runner& runner) {
    constexpr std::size_t clients = 8;
    runner.alternate(
        "Warming up", {},
        sources_of({&variant::conclave, &variant::curator, &variant::kazoo, &variant::write_lock},
                   [this](const lock_variant& v) {
                     auto plan = plan_for(v, clients);
                     plan.measured *= 5;
                     return rounds_->measure_times(plan);
                   }));
  }

  // Clients with a session and a thread each: rounds for times, then one for the traffic.
  void run_both_series(round_runner& runner, const std::string& name, const std::string& title,
                       const variant_list& all, std::size_t clients) {
    runner.add_series(name, title, {options.rounds, 1},
                      sources_of(all, [this, clients](const lock_variant& v) {
                        return rounds_->measure_times(plan_for(v, clients));
                      }));
    auto traffic = runner.alternate(title + ", frames and bytes", {},
                                    sources_of(all, [this, clients](const lock_variant& v) {
                                      return rounds_->measure_traffic(plan_for(v, clients));
                                    }));
    runner.found().all.push_back({series_name::traffic_of(name),
                                  title + ": what goes over the network for each", names_of(all),
                                  std::move(traffic)});
  }

  // Many waiters in ten sessions. A contender that released the lock becomes the last waiter, so
  // that their number stays. A variant that is too slow is left out of the series with more
  // waiters.
  void run_waiters_series(round_runner& runner) {
    variant_list able{&variant::asynchronous, &variant::without_tickets, &variant::curator,
                      &variant::kazoo,        &variant::write_lock,      &variant::named,
                      &variant::naive};
    for (const auto waiters : waiter_counts) {
      if (!runner.is_wanted(series_name::waiters(waiters))) continue;
      std::erase_if(able, [&](const lock_variant* v) {
        return waiters > v->most_waiters ||
               (v != &variant::asynchronous && waiters > most_waiters_of_peers_);
      });
      able = run_with_waiters(runner, waiters, able);
    }
  }

  // Returns the variants that were not too slow.
  variant_list run_with_waiters(round_runner& runner, std::size_t waiters,
                                const variant_list& all) {
    const auto title = std::to_string(waiters) + " waiters";
    const auto name = series_name::waiters(waiters);
    variant_list able;
    variant_list quick;
    variant_list slow;
    rounds_by_variant traffic;
    runner.progress().begin_step(title + ", frames and bytes", all.size());
    for (const auto* v : all) {
      const auto begun = std::chrono::steady_clock::now();
      try {
        traffic[v->name] = {rounds_->measure_traffic(plan_with_waiters(*v, waiters))};
        able.push_back(v);
        (std::chrono::steady_clock::now() - begun > long_round ? slow : quick).push_back(v);
      } catch (const round_too_slow& why) {
        runner.found().remarks.push_back(v->name + " was stopped at " + std::to_string(waiters) +
                                         " waiters: " + why.what());
      }
      runner.progress().round_done(v->name);
    }

    const auto run_round = [this, waiters](const lock_variant& v) {
      return rounds_->measure_times(plan_with_waiters(v, waiters));
    };
    const std::size_t unmeasured = waiters == waiter_counts[0] ? 1 : 0;
    const auto rounds = std::min(options.rounds, most_waiters_rounds_);
    auto timed = runner.alternate(title, {rounds, unmeasured}, sources_of(quick, run_round));
    if (!slow.empty())
      timed.merge(runner.alternate(title + ", one round", {}, sources_of(slow, run_round)));

    auto& series_list = runner.found().all;
    series_list.push_back({name, title, names_of(able), std::move(timed)});
    series_list.push_back({series_name::traffic_of(name),
                           title + ": what goes over the network for each hand-off", names_of(able),
                           std::move(traffic)});
    return able;
  }

  std::optional<lock_rounds> rounds_;
  std::size_t most_waiters_rounds_{3};
  std::size_t most_waiters_of_peers_{10'000};
  std::chrono::milliseconds warm_up_{200};
  std::chrono::milliseconds measured_{800};
};

void run_worker(std::span<const std::string>) { serve_loads(make_lock_load); }

}  // namespace
}  // namespace conclave::bench

int main(int argc, char** argv) {
  using namespace conclave::bench;
  return benchmark_main(argc, argv, run_worker, [] { return std::make_unique<lock_benchmark>(); });
}
