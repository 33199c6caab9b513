// bench_client: compares the client with libzookeeper_mt on one Apache ZooKeeper.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <zookeeper/zookeeper_version.h>

#include <conclave/client.hpp>
#include <conclave/version.hpp>

#include "client_library.hpp"
#include "driver/driver.hpp"
#include "driver/json.hpp"
#include "driver/process.hpp"
#include "driver/zookeeper.hpp"
#include "traced_cost.hpp"
#include "workload.hpp"

namespace conclave::bench {
namespace {

constexpr std::size_t window = 256;

enum class cores { all, one };

struct client_series {
  const char* name;
  const char* title;
  workload what;
  std::size_t operations;
  std::size_t warm_up;
  std::size_t window;
  std::size_t unmeasured;  // rounds
  bench::cores cores;
};

const client_series pipelined_creates{"pipelined-creates",
                                      "Pipelined creates, window 256",
                                      workload::creates,
                                      10'000,
                                      1'000,
                                      window,
                                      3,
                                      cores::all};
const client_series pipelined_gets{
    "pipelined-gets", "Pipelined gets, window 256", workload::gets, 20'000, 1'000, window, 2,
    cores::all};
const client_series pipelined_creates_one_core{
    "pipelined-creates-one-core",
    "Pipelined creates, window 256, client and server on one core",
    workload::creates,
    10'000,
    1'000,
    window,
    1,
    cores::one};
const client_series blocking_get_one_core{"blocking-get-one-core",
                                          "Blocking get, client and server on one core",
                                          workload::blocking_gets,
                                          5'000,
                                          500,
                                          1,
                                          2,
                                          cores::one};
const client_series blocking_get_all_cores{"blocking-get-all-cores",
                                           "Blocking get, all cores",
                                           workload::blocking_gets,
                                           5'000,
                                           500,
                                           1,
                                           1,
                                           cores::all};
// The first unmeasured rounds warm up the server's JIT compiler.
const client_series* const all_series[] = {&pipelined_creates, &pipelined_gets,
                                           &pipelined_creates_one_core, &blocking_get_one_core,
                                           &blocking_get_all_cores};

const client_series& series_named(const std::string& name) {
  return **std::find_if(std::begin(all_series), std::end(all_series),
                        [&name](const auto* s) { return s->name == name; });
}

std::optional<double> larger(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return std::nullopt;
  return std::max(*a, *b);
}

// The goals as ratios to one variant of libzookeeper. The CPU goal uses the worse value of
// pipelined creates and gets. There are two goals for the rate of creates. On all cores, the server
// limits every client, and rounds differ by a factor of two. On one core, client and server share
// the CPU time.
void add_goals_against(const char* theirs, const results& found, goal_list& goals) {
  using enum comparison;
  const auto ratio = [&](const client_series& s, const char* figure) {
    return found.ratio(s.name, figure, variant::conclave, theirs);
  };
  goals.add("client-cpu-ratio",
            larger(ratio(pipelined_creates, figure::cpu_us_per_operation),
                   ratio(pipelined_gets, figure::cpu_us_per_operation)),
            at_most, 0.2);
  goals.add("pipelined-creates-ratio", ratio(pipelined_creates, figure::operations_per_second),
            at_least, 2);
  goals.add("pipelined-creates-one-core-ratio",
            ratio(pipelined_creates_one_core, figure::operations_per_second), at_least, 2);
  goals.add("blocking-get-latency-ratio", ratio(blocking_get_one_core, figure::latency_us), at_most,
            0.7);
}

// A row for each figure, a column for each variant.
void print_series(const series& s) {
  constexpr std::pair<const char*, const char*> rows[] = {
      {figure::operations_per_second, "operations/s"},
      {figure::latency_us, "latency, µs"},
      {figure::latency_p99_us, "latency p99, µs"},
      {figure::cpu_us_per_operation, "client CPU, µs/op"},
      {figure::user_us_per_operation, "  in user mode"},
      {figure::system_us_per_operation, "  in the kernel"},
      {figure::switches_per_operation, "context switches/op"},
  };
  constexpr std::size_t widths[] = {22, 23, 23, 23, 7, 8};
  const auto print = [&widths](const std::vector<std::string>& cells) {
    std::vector<std::pair<std::string, std::size_t>> row;
    for (const auto& cell : cells) row.emplace_back(cell, widths[row.size()]);
    print_row(row);
  };
  const auto& rounds = s.rounds.at(variant::conclave);
  std::printf("\n%s: %zu rounds of %zu operations each\n", s.title.c_str(), rounds.size(),
              series_named(s.name).operations);
  print({"", variant::conclave, variant::libzookeeper, variant::tuned_libzookeeper, "ratio",
         "to tuned"});
  for (const auto& [figure, title] : rows) {
    if (!rounds.front().contains(figure)) continue;
    std::vector<std::string> cells{title};
    for (const auto* name : variant::all) cells.push_back(with_spread(s.of(name, figure)));
    for (const auto* theirs : {variant::libzookeeper, variant::tuned_libzookeeper})
      cells.push_back(number(s.ratio(figure, variant::conclave, theirs)));
    print(cells);
  }
}

void print_costs(const std::vector<traced_cost>& costs) {
  if (costs.empty()) return;
  std::printf(
      "\nCosts of one operation, traced (tracing slows the client down, so its batches are "
      "larger)\n");
  for (const auto& cost : costs) {
    std::printf("  %s %s %s system calls, %s instructions in user mode\n",
                padded(std::string(name_of(cost.what)), 14).c_str(),
                padded(cost.variant, 18).c_str(), number(cost.system_calls).c_str(),
                number(cost.instructions).c_str());
    for (const auto& [name, count] : cost.by_name)
      if (count >= 0.005)
        std::printf("      %s %s\n", padded(name, 20).c_str(), number(count).c_str());
  }
}

class client_benchmark final : public benchmark {
 public:
  client_benchmark() { options.folder = std::filesystem::temp_directory_path(); }

  description about() const override {
    return {
        "client",
        "Compares Conclave's client with libzookeeper_mt, in alternating rounds, on one Apache\n"
        "ZooKeeper, which it starts on the loopback interface and stops at the end.",
        "one round of each", "pipelined-creates, pipelined-gets, blocking-get"};
  }

  std::vector<option> extra_options() override {
    return {{"--trace", "", "also count system calls (strace) and instructions (callgrind)",
             [this](const std::string&) { traces_ = true; }}};
  }

  void use_quick_rounds() override { options.rounds = 1; }

  environment prepare() override {
    const auto configuration = measured_server_options(false);
    server_.emplace(configuration);
    rounds_.emplace(server_->connect_string());
    std::string flags;
    for (const auto& flag : configuration.jvm_flags) flags += ' ' + flag;
    return {
        {"clients", std::string("conclave ") + version + ", libzookeeper_mt " + ZOO_VERSION},
        {"server",
         version_of(*server_) + flags + ", forceSync=no (the disk is not measured), loopback"},
        {"machine", machine()},
        {"compiler", compiler()},
        {"started", started_now()},
        {"figures", "medians of the rounds (smallest–largest); each round is a separate process"},
        {"tuned", "libzookeeper without its default of resolving names in every iteration"},
    };
  }

  void run(round_runner& runner) override {
    const int cpu = last_allowed_cpu();
    for (const auto* s : all_series) {
      if (!runner.is_wanted(s->name)) continue;
      round_plan plan{s->what, s->operations, s->warm_up, s->window, std::nullopt};
      std::optional<pinned_process> pin;
      if (s->cores == cores::one) {
        plan.cpu = cpu;
        pin.emplace(server_->pid(), cpu);
      }
      std::vector<round_source> sources;
      for (const auto* name : variant::all)
        sources.push_back({name, [this, &plan, name] { return rounds_->measure(plan, name); }});
      runner.add_series(s->name, s->title, {options.rounds, s->unmeasured}, std::move(sources));
    }
    if (traces_) costs_ = trace_costs(*rounds_, window, runner.progress());
  }

  void print_tables(const results& found) const override {
    for (const auto& s : found.all) print_series(s);
    print_costs(costs_);
  }

  void add_goals(const results& found, goal_list& goals) const override {
    add_goals_against(variant::libzookeeper, found, goals);
  }

  void add_notes(const results& found, note_list& notes) const override {
    goal_list tuned;
    add_goals_against(variant::tuned_libzookeeper, found, tuned);
    for (const auto& g : tuned.all())
      notes.add(g.name + " against " + variant::tuned_libzookeeper, g.measured);
  }

  void extend_json(const results& found, boost::json::object& report) const override {
    auto& json_series = report["series"].as_array();
    for (std::size_t i = 0; i < found.all.size(); ++i)
      extend(json_series[i].as_object(), found.all[i]);
    goal_list tuned;
    add_goals_against(variant::tuned_libzookeeper, found, tuned);
    auto& json_goals = report["goals"].as_array();
    for (std::size_t i = 0; i < tuned.all().size(); ++i)
      json_goals[i].as_object()["measured_to_tuned"] = tuned.all()[i].measured;
    if (costs_.empty()) return;
    boost::json::array costs;
    for (const auto& c : costs_)
      costs.push_back({{"workload", name_of(c.what)},
                       {"contestant", c.variant},
                       {"system_calls_per_operation", c.system_calls},
                       {"system_calls_by_name", to_json(c.by_name)},
                       {"instructions_per_operation", c.instructions}});
    report["costs"] = std::move(costs);
  }

 private:
  static void extend(boost::json::object& json, const series& s) {
    const auto& declared = series_named(s.name);
    json["operations_per_round"] = declared.operations;
    json["window"] = declared.window;
    json["one_core"] = declared.cores == cores::one;
    boost::json::object ratios;
    boost::json::object tuned_ratios;
    for (const auto& [name, value] : s.rounds.at(variant::conclave).front()) {
      ratios[name] = s.ratio(name, variant::conclave, variant::libzookeeper);
      tuned_ratios[name] = s.ratio(name, variant::conclave, variant::tuned_libzookeeper);
    }
    json["ratio_of_medians"] = std::move(ratios);
    json["ratio_of_medians_to_tuned"] = std::move(tuned_ratios);
  }

  bool traces_{false};
  std::optional<testing::zookeeper_server> server_;
  std::optional<client_rounds> rounds_;
  std::vector<traced_cost> costs_;
};

}  // namespace
}  // namespace conclave::bench

int main(int argc, char** argv) {
  using namespace conclave::bench;
  return benchmark_main(argc, argv, run_client_worker,
                        [] { return std::make_unique<client_benchmark>(); });
}
