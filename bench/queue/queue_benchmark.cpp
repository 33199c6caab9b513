// bench_queue: compares the queue with those of ZooKeeper's recipes, Curator and kazoo.
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driver/recipe_benchmark.hpp"
#include "queue_rounds.hpp"
#include "queue_variants.hpp"

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// A variant whose first round takes longer has only this round.
constexpr auto long_round = 6s;

constexpr std::size_t user_counts[] = {1, 4};  // the number of producers, and of consumers
constexpr std::size_t consumer_counts[] = {1, 4};
constexpr std::size_t lengths[] = {100, 1'000, 10'000};

std::string flow_series(std::size_t users) {
  const auto n = std::to_string(users);
  return "flow-" + n + 'x' + n;
}

std::string drain_series(std::size_t consumers, std::size_t length) {
  return "drain-" + std::to_string(consumers) + '-' + std::to_string(length);
}

std::string counted(std::size_t n, const std::string& noun, const std::string& separator = " ") {
  return std::to_string(n) + separator + noun + (n == 1 ? "" : "s");
}

std::vector<std::string> names_of(const variant_list& all) {
  std::vector<std::string> names;
  for (const auto* v : all) names.push_back(v->name);
  return names;
}

// Ways to use a queue, and the variants of other libraries that are used in the same way.
struct comparison_group {
  const char* name;
  const queue_variant* ours;
  variant_list peers;
};
const variant_list popping_peers{&variant::zookeeper, &variant::curator, &variant::kazoo};
const variant_list claiming_peers{&variant::kazoo_locking};
const comparison_group groups[] = {
    {"blocking", &variant::conclave, popping_peers},
    {"async", &variant::asynchronous, popping_peers},
    {"claims", &variant::claiming, claiming_peers},
    {"async-claims", &variant::claiming_asynchronously, claiming_peers},
};

// Returns the ratio of our rate to the highest rate of the other libraries. Returns nothing if ours
// or all others were not measured.
std::optional<double> ratio_to_best(const results& found, const std::string& name,
                                    const queue_variant& ours, const variant_list& peers) {
  const auto mine = found.median(name, ours.name, figure::operations_per_second);
  double best = 0;
  for (const auto* peer : peers)
    best =
        std::max(best, found.median(name, peer->name, figure::operations_per_second).value_or(0));
  if (!mine || best == 0) return std::nullopt;
  return *mine / best;
}

// Returns the time per item in a queue of length `to` divided by that in a queue of length `from`.
std::optional<double> growth(const results& found, const queue_variant& v, std::size_t consumers,
                             std::size_t from, std::size_t to) {
  const auto shorter = found.median(drain_series(consumers, from), v.name, figure::us_per_item);
  const auto longer = found.median(drain_series(consumers, to), v.name, figure::us_per_item);
  if (!shorter || !longer) return std::nullopt;
  return *longer / *shorter;
}

// Points and dashes make the lines differ even without colours.
const line_style lines[] = {
    {variant::conclave.name, "Conclave", "#0b3c6f", 7, 1},
    {variant::asynchronous.name, "Conclave, 64 calls at once", "#3a86c8", 6, 1},
    {variant::claiming.name, "Conclave, claims", "#1d6b3a", 13, 2},
    {variant::claiming_asynchronously.name, "Conclave, 64 claims at once", "#2a9d5c", 12, 2},
    {variant::zookeeper.name, "ZooKeeper DistributedQueue", "#d99a1b", 11, 3},
    {variant::curator.name, "Curator SimpleDistributedQueue", "#d1495b", 5, 3},
    {variant::kazoo.name, "kazoo Queue", "#8c8c8c", 9, 5},
    {variant::kazoo_locking.name, "kazoo LockingQueue", "#000000", 2, 5},
};

std::vector<series_column> drain_columns(std::size_t consumers) {
  std::vector<series_column> result;
  for (const auto length : lengths)
    result.push_back({std::to_string(length), drain_series(consumers, length)});
  return result;
}

std::string drain_script(const results& found) {
  for (const auto consumers : consumer_counts)
    for (const auto length : lengths)
      if (!found.find(drain_series(consumers, length))) return {};
  const auto data = [&found](const char* name, std::size_t consumers) {
    return plot_data(name, found, drain_columns(consumers), variants_of(lines),
                     figure::us_per_item);
  };
  return data("one", 1) + data("four", 4) +
         "set logscale xy\n"
         "set xrange [70:14000]\n"
         "set xtics ('100' 100, '1,000' 1000, '10,000' 10000)\n"
         "set xlabel 'items in the queue'\n"
         "set ylabel 'microseconds for each item'\n"
         "set format y '10^{%T}'\n"
         "set grid ytics linecolor rgb '#a0a0a0'\n"
         "set border 3\n"
         "set tics nomirror\n"
         "set multiplot layout 1,2 margins screen 0.075,0.98,0.27,0.86 spacing screen 0.09 "
         "title 'Emptying a queue on one Apache ZooKeeper 3.8: time for each item (less is "
         "better)'\n"
         "set key at screen 0.53, screen 0.08 center center vertical maxrows 3 Left reverse "
         "samplen 5 width 2\n"
         "set title 'one consumer'\n" +
         plot_lines("one", lines) + "unset key\nset title 'four consumers'\n" +
         plot_lines("four", lines) + "unset multiplot\n";
}

class queue_benchmark final : public recipe_benchmark {
 public:
  description about() const override {
    return {"queue",
            "Compares Conclave's queue with those of ZooKeeper's recipes, Curator and kazoo, in\n"
            "alternating rounds on one Apache ZooKeeper, which it starts, and stops at the end.",
            "few and short rounds, and no long queues of peers", "flow, drain-1, drain-4"};
  }

  void use_quick_rounds() override {
    options.rounds = 1;
    items_ = 400;
    longest_of_peers_ = 1'000;
    limit_ = 5s;
  }

  environment prepare() override {
    rounds_.emplace(force_sync(), cpu(),
                    peer_programs{CONCLAVE_BENCH_JAVA, CONCLAVE_BENCH_CLASS_PATH,
                                  "conclave.bench.queue.QueueWorker", CONCLAVE_BENCH_KAZOO});
    auto where = common_environment(
        rounds_->server(), "ZooKeeper " + version_of_jar("zookeeper-recipes-queue") +
                               " DistributedQueue, Curator " + version_of_jar("curator-recipes") +
                               " SimpleDistributedQueue, kazoo " + version_of_kazoo() +
                               " Queue and LockingQueue");
    const environment more{
        {"items", "100 bytes; the same number for all: " + std::to_string(items_ / 2) +
                      " with one producer, " + std::to_string(items_) + " with four"},
        {"async", std::to_string(calls_in_flight) +
                      " concurrent calls for each client; the other variants: one call"},
        {"workers",
         "two processes of each library, started once; a session per producer or consumer"},
        {"kazoo Queue",
         "cannot wait; if the queue is empty, the benchmark sets a watch and calls it again"},
        {"figures",
         "medians of the rounds (smallest–largest); from the first call until the last "
         "item was consumed"},
    };
    where.insert(where.end(), more.begin(), more.end());
    return where;
  }

  void run(round_runner& runner) override {
    warm_up(runner);
    for (const auto users : user_counts)
      run_series(runner, flow_series(users),
                 counted(users, "producer") + ", " + counted(users, "consumer"), variant::all,
                 [this, users](const queue_variant& v) { return flow_plan(v, users); });
    for (const auto consumers : consumer_counts)
      for (const auto length : lengths) run_drain_series(runner, consumers, length);
  }

  void print_tables(const results& found) const override {
    std::vector<series_column> flows;
    for (const auto users : user_counts) {
      const auto n = std::to_string(users);
      flows.push_back({n + " x " + n, flow_series(users)});
    }
    print_table(found, "Items a second, producers x consumers", figure::operations_per_second,
                flows, names_of(variant::all));
    for (const auto consumers : consumer_counts)
      print_table(found,
                  "µs for each item, by how many are there already; consumers: " +
                      std::to_string(consumers),
                  figure::us_per_item, drain_columns(consumers), names_of(variant::all));
  }

  void add_goals(const results& found, goal_list& goals) const override {
    for (const auto& g : {groups[0], groups[1]})
      goals.add(std::string("queue-4x4-") + g.name + "-ratio-to-best-peer",
                ratio_to_best(found, flow_series(4), *g.ours, g.peers), comparison::at_least, 5);
    for (const auto consumers : consumer_counts)
      for (const auto& g : groups)
        goals.add(std::string("queue-drain-") + g.name + '-' + counted(consumers, "consumer", "-") +
                      "-time-10000-to-100",
                  growth(found, *g.ours, consumers, 100, 10'000), comparison::at_most, 1.2);
  }

  void add_notes(const results& found, note_list& notes) const override {
    for (const auto& g : groups) {
      for (const auto users : user_counts)
        for (const auto* peer : g.peers)
          notes.add("queue-" + flow_series(users) + '-' + g.name + "-ratio-to-" + peer->short_name,
                    ratio_to_best(found, flow_series(users), *g.ours, {peer}));
      for (const auto consumers : consumer_counts) {
        notes.add(std::string("queue-drain-") + g.name + '-' + counted(consumers, "consumer", "-") +
                      "-time-10000-to-1000",
                  growth(found, *g.ours, consumers, 1'000, 10'000));
        for (const auto length : lengths) {
          const auto name = drain_series(consumers, length);
          notes.add("queue-" + name + '-' + g.name + "-ratio-to-best-peer",
                    ratio_to_best(found, name, *g.ours, g.peers));
        }
      }
    }
  }

  std::vector<plot> plots(const results& found) const override {
    return {{"queue-drain", drain_script(found), "1200,640"}};
  }

 private:
  using plan_maker = std::function<round_plan(const queue_variant&)>;

  // Runs producers and the same number of consumers at the same time.
  round_plan flow_plan(const queue_variant& v, std::size_t users) const {
    return {&v, users, users, users == 1 ? items_ / 2 : items_, limit_};
  }

  // Warms up Java's compilers in all workers and in the server.
  void warm_up(round_runner& runner) {
    runner.progress().begin_step("Warming up", variant::all.size() * std::size(user_counts));
    for (const auto* v : variant::all)
      for (const auto users : user_counts) {
        auto plan = flow_plan(*v, users);
        plan.limit = std::min<std::chrono::milliseconds>(plan.limit, 8s);
        rounds_->run(plan);
        runner.progress().round_done(v->name);
      }
  }

  // Runs only consumers. The items are pushed before the start.
  void run_drain_series(round_runner& runner, std::size_t consumers, std::size_t length) {
    variant_list able;
    for (const auto* v : variant::all)
      if (v->library == library::conclave || length <= longest_of_peers_) able.push_back(v);
    run_series(runner, drain_series(consumers, length),
               std::to_string(length) + " items there already, " + counted(consumers, "consumer"),
               able, [this, consumers, length](const queue_variant& v) {
                 return round_plan{&v, 0, consumers, static_cast<std::int64_t>(length), limit_};
               });
  }

  // The first round of each variant is not measured, unless it takes so long that it is the only
  // one.
  void run_series(round_runner& runner, const std::string& name, const std::string& title,
                  const variant_list& all, const plan_maker& plan_for) {
    if (!runner.is_wanted(name)) return;
    const auto run_round = [&](const round_plan& plan) {
      auto r = rounds_->run(plan);
      if (r.stopped)
        runner.found().remarks.push_back(
            plan.variant->name + " was stopped after " + std::to_string(plan.limit / 1s) +
            " s: " + title + ", " + std::to_string(static_cast<long>(r.found.at(figure::items))) +
            " of " + std::to_string(plan.items) + " items; its figures are for these items");
      return r;
    };
    series s{name, title, names_of(all), {}};
    std::vector<round_source> quick;
    runner.progress().begin_step(title + ", first round", all.size());
    for (const auto* v : all) {
      const auto plan = plan_for(*v);
      const auto begun = clock::now();
      auto first = run_round(plan);
      if (first.stopped || clock::now() - begun > long_round)
        s.rounds[v->name] = {std::move(first.found)};
      else
        quick.push_back({v->name, [&run_round, plan] { return run_round(plan).found; }});
      runner.progress().round_done(v->name);
    }
    s.rounds.merge(runner.alternate(title, {options.rounds, 0}, std::move(quick)));
    runner.found().all.push_back(std::move(s));
  }

  std::optional<queue_rounds> rounds_;
  std::int64_t items_{4'000};  // in a round with four producers
  std::size_t longest_of_peers_{10'000};
  std::chrono::milliseconds limit_{30'000};  // of a round
};

void run_worker(std::span<const std::string>) { serve_loads(make_queue_load); }

}  // namespace
}  // namespace conclave::bench

int main(int argc, char** argv) {
  using namespace conclave::bench;
  return benchmark_main(argc, argv, run_worker, [] { return std::make_unique<queue_benchmark>(); });
}
