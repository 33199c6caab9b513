// bench_lock: compares the locks with those of Curator, kazoo and ZooKeeper's recipes.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../server/servers.hpp"
#include "../server/workloads.hpp"
#include "driver/recipe_benchmark.hpp"
#include "kept_rounds.hpp"
#include "lock_rounds.hpp"
#include "lock_variants.hpp"
#include "measured_ensemble.hpp"
#include "plots.hpp"

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;
using variant_list = std::vector<const lock_variant*>;

constexpr std::size_t sessions_of_waiters = 10;
// A variant whose round takes longer has only one timed round.
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

// Returns all variants that ran with waiters, in the order of the first series.
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

// Returns the cost of a hand-off with 10,000 waiters divided by the cost with 10.
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
    return {
        "lock",
        "Compares Conclave's locks with those of Curator, kazoo and ZooKeeper's recipes, in\n"
        "alternating rounds on one Apache ZooKeeper, which it starts, and stops at the end. At\n"
        "the end, compares locks with those of Curator on an ensemble of three such servers.",
        "few and short rounds, and peers with at most 100 waiters",
        "cycles, kept, hand-offs, waiters, ensemble"};
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
    where.emplace_back(
        "WriteLock",
        "may miss the release of its predecessor; the benchmark wakes it after 250 ms");
    where.emplace_back("ensemble",
                       "three such servers on this machine; one client uses each of them in turn, 8"
                       " clients choose servers at random");
    where.emplace_back("workers", "two processes of each library, started once");
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
    run_kept_series(runner);
    for (const auto clients : client_counts)
      if (runner.is_wanted(series_name::hand_offs(clients)))
        run_both_series(runner, series_name::hand_offs(clients),
                        "Hand-offs, " + std::to_string(clients) + " clients",
                        {&variant::conclave, &variant::keeping, &variant::curator, &variant::kazoo,
                         &variant::write_lock},
                        clients);
    run_waiters_series(runner);
    run_ensemble_series(runner);
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
    add_kept_goals(found, goals);
    goals.add("lock-ensemble-uncontended-ratio-to-curator",
              rate_ratio(found, series_name::on_ensemble(series_name::cycles), variant::conclave,
                         variant::curator),
              at_least, 1.5);
    goals.add("lock-ensemble-hand-offs-8-clients-ratio-to-curator",
              rate_ratio(found, series_name::on_ensemble(series_name::hand_offs(8)),
                         variant::conclave, variant::curator),
              at_least, 1.5);
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
    notes.add("lock-ensemble-kept-uncontended-ratio-to-curator",
              rate_ratio(found, series_name::on_ensemble(series_name::cycles), variant::keeping,
                         variant::curator));
    notes.add("lock-ensemble-kept-hand-offs-8-clients-ratio-to-curator",
              rate_ratio(found, series_name::on_ensemble(series_name::hand_offs(8)),
                         variant::keeping, variant::curator));
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

  // Warms up Java's compilers in all workers and in the server.
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

  // Each client has a session and a thread. Runs rounds that measure times, and then one that
  // measures the traffic.
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

  static constexpr const char* idle_kept_lock = "idle kept lock";
  static constexpr const char* hand_off = "hand-off";

  // Locks that stay with their object after unlock().
  void run_kept_series(round_runner& runner) {
    const auto servers = rounds_->server().connect_string();
    const auto kept = [this, servers](std::size_t threads) {
      return round_source{variant::keeping.name, [this, servers, threads] {
                            return measure_kept_lock(servers, rounds_->new_path(), threads,
                                                     measured_);
                          }};
    };
    const auto in_process = [this](std::size_t threads) {
      return round_source{other_lock::std_mutex,
                          [this, threads] { return measure_std_mutex(threads, measured_); }};
    };
    if (runner.is_wanted(series_name::kept_by(1))) {
      const redis_server server{options.folder / "redis.sock"};
      const round_source redis_rounds{other_lock::redis, [this, &server] {
                                        round_task task;
                                        task.servers = server.address();
                                        task.server = server.pid();
                                        task.warm_up = warm_up_;
                                        task.measured = measured_;
                                        task.root = "kept";
                                        return run_redis_lock(task);
                                      }};
      auto sources = sources_of({&variant::curator}, [this](const lock_variant& v) {
        return rounds_->measure_times(plan_for(v, 1));
      });
      sources.insert(sources.begin(), {kept(1), in_process(1), redis_rounds});
      runner.add_series(series_name::kept_by(1), "Kept lock, one thread", {options.rounds, 1},
                        sources);
    }
    if (runner.is_wanted(series_name::kept_by(8)))
      runner.add_series(series_name::kept_by(8), "Kept lock, 8 threads", {options.rounds, 1},
                        {kept(8), in_process(8)});
    if (runner.is_wanted(series_name::recall))
      runner.add_series(
          series_name::recall, "From the arrival of a contender, or the release, to the grant",
          {options.rounds, 1},
          {{idle_kept_lock,
            [this, servers] { return measure_recall(servers, rounds_->new_path()); }},
           {hand_off, [this, servers] { return measure_hand_off(servers, rounds_->new_path()); }}});
  }

  static void add_kept_goals(const results& found, goal_list& goals) {
    using enum comparison;
    const auto one = series_name::kept_by(1);
    const auto& ours = variant::keeping.name;
    const auto* const rate = figure::operations_per_second;
    goals.add("lock-kept-per-second", found.median(one, ours, rate), at_least, 5e6);
    goals.add("lock-kept-ratio-to-curator", found.ratio(one, rate, ours, variant::curator.name),
              at_least, 1000);
    goals.add("lock-kept-ratio-to-redis", found.ratio(one, rate, ours, other_lock::redis), at_least,
              100);
    goals.add("lock-kept-8-threads-ratio-to-std-mutex",
              found.ratio(series_name::kept_by(8), rate, ours, other_lock::std_mutex), at_least,
              0.3);
    for (const auto clients : client_counts)
      goals.add(
          "lock-kept-hand-offs-" + std::to_string(clients) + "-clients-ratio-to-not-kept",
          rate_ratio(found, series_name::hand_offs(clients), variant::keeping, variant::conclave),
          at_least, 0.95);
    goals.add("lock-kept-recall-ratio-to-hand-off",
              found.ratio(series_name::recall, figure::latency_us, idle_kept_lock, hand_off),
              at_most, 1.5);
  }

  // Many waiters in ten sessions. A contender that released the lock becomes the last waiter, so
  // that the number of waiters is constant. A variant that is too slow is omitted from the series
  // with more waiters.
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

  // The ensemble runs only during this function, so that it does not slow the other series down.
  void run_ensemble_series(round_runner& runner) {
    constexpr std::size_t clients = 8;
    const auto cycles = series_name::on_ensemble(series_name::cycles);
    const auto hand_offs = series_name::on_ensemble(series_name::hand_offs(clients));
    if (!runner.is_wanted(cycles) && !runner.is_wanted(hand_offs)) return;
    measured_ensemble ensemble{force_sync(), cpu()};
    const auto run_hand_offs = [&](const lock_variant& v, int factor) {
      auto plan = plan_for(v, clients);
      plan.measured *= factor;
      return rounds_->measure_times(plan, ensemble.all());
    };
    runner.alternate("Warming up the ensemble", {},
                     sources_of({&variant::conclave, &variant::curator},
                                [&](const lock_variant& v) { return run_hand_offs(v, 5); }));

    if (runner.is_wanted(cycles)) {
      const variant_list all{&variant::conclave, &variant::keeping, &variant::curator};
      // The leader answers faster than a follower. So each round of all variants uses one server.
      std::size_t runs = 0;
      const auto run_cycles = [&](const lock_variant& v) {
        const auto server = ensemble.only(runs++ / all.size() % ensemble.size());
        if (&v == &variant::keeping)
          return measure_kept_lock(server.connect_string, rounds_->new_path(), 1, measured_);
        return rounds_->measure_times(plan_for(v, 1), server);
      };
      runner.add_series(cycles, "Lock and unlock on an ensemble, one client", {options.rounds, 1},
                        sources_of(all, run_cycles));
    }
    if (runner.is_wanted(hand_offs))
      runner.add_series(hand_offs, "Hand-offs on an ensemble, 8 clients", {options.rounds, 1},
                        sources_of({&variant::conclave, &variant::keeping, &variant::curator},
                                   [&](const lock_variant& v) { return run_hand_offs(v, 1); }));
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
