// bench_ensemble: compares a model of an ensemble with three real servers, and uses the model to
// estimate the latency and load with up to 10,000 clients.
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "calibration.hpp"
#include "driver/driver.hpp"
#include "driver/zookeeper.hpp"
#include "real_ensemble.hpp"
#include "simulation/ensemble/ensemble_workloads.hpp"

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;
using simulated::workload_figures;

constexpr auto real = "three servers";
constexpr auto model = "model";
constexpr auto model_figure_cpu = "leader_cpu_share";
constexpr std::size_t many_clients = 32;
// The figure that states the error of the model: model / real - 1, in per cent.
constexpr auto largest_error_goal = 25.0;

double us_of(std::chrono::nanoseconds t) {
  return std::chrono::duration<double, std::micro>(t).count();
}

struct workload {
  std::string name;
  std::string title;
  figures (*measure)(const testing::zookeeper_ensemble&, std::size_t, std::chrono::milliseconds);
  workload_figures (*simulate)(const simulated::ensemble_options&, std::size_t, std::size_t);
  std::vector<std::size_t> clients;
};

std::string series_of(const std::string& name, std::size_t clients) {
  return name + '-' + std::to_string(clients);
}

const std::array<workload, 3>& workloads() {
  static const std::array<workload, 3> all{{
      {"read", "reads", measure_reads, simulated::run_reads, {1, 8, many_clients}},
      {"own", "own locks", measure_own_locks, simulated::run_own_locks, {1, 8, many_clients}},
      {"lock",
       "one lock",
       measure_contended_lock,
       simulated::run_contended_lock,
       {2, 8, many_clients, 100}},
  }};
  return all;
}

// The calibration uses these figures, so the model matches them by construction.
bool is_calibrated(const std::string& name, std::size_t clients) {
  return (name == "read" || name == "own") && (clients == 1 || clients == many_clients);
}

figures figures_of(const workload_figures& f) {
  return {{figure::operations_per_second, f.per_second()},
          {figure::latency_us, us_of(f.median)},
          {figure::latency_p99_us, us_of(f.p99)},
          {model_figure_cpu, f.cpu_share(0)}};
}

// Three servers with their own core and disk each, and clients on other machines.
simulated::ensemble_options separate_machines(simulated::ensemble_options o) {
  o.shared_cores = 0;
  o.client_delay = o.server_delay = 250us;  // a data centre
  return o;
}

class ensemble_benchmark final : public benchmark {
 public:
  ensemble_benchmark() { options.rounds = 3; }

  description about() const override {
    return {
        "ensemble",
        "Measures reads and locks on three Apache ZooKeeper servers on this machine. Calibrates\n"
        "a model of an ensemble with some of these figures and compares it with the others.\n"
        "Then runs the model with up to 10,000 clients.",
        "one short round, and at most 1,000 clients of the model", "read, own, lock"};
  }
  void use_quick_rounds() override {
    options.rounds = 1;
    time_ = 500ms;
    most_clients_ = 1000;
  }

  environment prepare() override {
    servers_ = std::make_unique<testing::zookeeper_ensemble>(measured_server_options(true));
    return {{"machine", machine()},
            {"servers", "3 x " + version_of(servers_->server(0)) + ", forceSync=yes"},
            {"built with", compiler()},
            {"started", started_now()}};
  }

  void run(round_runner& runner) override {
    for (const auto& w : workloads())
      for (const auto n : w.clients)
        runner.add_series(series_of(w.name, n), w.title + ", " + std::to_string(n) + " clients",
                          {options.rounds, 1},
                          {{real, [&, n] { return w.measure(*servers_, n, time_); }}});
    servers_.reset();

    const auto& found = runner.found();
    const auto median = [&](const std::string& series, const char* figure) {
      const auto value = found.median(series, real, figure);
      if (!value) throw std::runtime_error("the calibration needs all series");
      return *value;
    };
    calibration_input in;
    in.cores = std::thread::hardware_concurrency();
    in.many_clients = many_clients;
    in.read_us = median(series_of("read", 1), figure::latency_us);
    in.reads_per_second = median(series_of("read", many_clients), figure::operations_per_second);
    in.lock_us = median(series_of("own", 1), figure::latency_us);
    in.locks_per_second = median(series_of("own", many_clients), figure::operations_per_second);
    calibrated_ = calibrate(in);

    for (auto& s : runner.found().all)
      for (const auto& w : workloads())
        for (const auto n : w.clients)
          if (s.name == series_of(w.name, n)) {
            s.variants.emplace_back(model);
            s.rounds[model] = {figures_of(w.simulate(calibrated_, n, 2000))};
          }
    extrapolate();
  }

  void print_tables(const results& found) const override {
    std::printf("\nthe model beside three real servers on this machine\n\n");
    print_row({{"workload", 12},
               {"clients", 8},
               {"per second", 12},
               {"model", 10},
               {"error", 8},
               {"latency us", 12},
               {"model", 10},
               {"error", 8},
               {"", 0}});
    for (const auto& w : workloads())
      for (const auto n : w.clients) {
        const auto* s = found.find(series_of(w.name, n));
        if (s == nullptr || !s->has(model)) continue;
        const auto at = [&](const char* variant, const char* figure) {
          return s->of(variant, figure).median;
        };
        const auto error = [&](const char* figure) {
          char text[32];
          std::snprintf(text, sizeof text, "%+.0f %%",
                        100 * (at(model, figure) / at(real, figure) - 1));
          return std::string(text);
        };
        print_row({{w.title, 12},
                   {std::to_string(n), 8},
                   {number(at(real, figure::operations_per_second)), 12},
                   {number(at(model, figure::operations_per_second)), 10},
                   {error(figure::operations_per_second), 8},
                   {number(at(real, figure::latency_us)), 12},
                   {number(at(model, figure::latency_us)), 10},
                   {error(figure::latency_us), 8},
                   {is_calibrated(w.name, n) ? "used for the calibration" : "", 0}});
      }
    std::printf(
        "\ncalibrated, us: request %s, proposal and application of a write %s, client %s,\n"
        "network %s, flush %s\n",
        number(us_of(calibrated_.request_cpu)).c_str(),
        number(us_of(calibrated_.apply_cpu)).c_str(), number(us_of(calibrated_.client_cpu)).c_str(),
        number(us_of(calibrated_.client_delay)).c_str(), number(us_of(calibrated_.flush)).c_str());

    std::printf("\nthe model with a core and a disk for each server, network delay 250 us\n\n");
    print_row({{"workload", 36},
               {"clients", 8},
               {"per second", 11},
               {"median ms", 10},
               {"p99 ms", 9},
               {"leader CPU", 11},
               {"follower", 9},
               {"disk", 7},
               {"requests/op", 12},
               {"bytes/op", 9}});
    for (const auto& row : extrapolated_) {
      const auto& f = row.found;
      const auto percent = [](double share) { return number(100 * share) + " %"; };
      simulated::server_load all;
      for (const auto& s : f.servers) {
        all.requests += s.requests;
        all.bytes_sent += s.bytes_sent;
      }
      const auto each = [&](std::uint64_t n) {
        return f.operations == 0
                   ? std::string("-")
                   : number(static_cast<double>(n) / static_cast<double>(f.operations));
      };
      const bool idle = f.operations == 0;
      print_row({{row.title, 36},
                 {std::to_string(row.clients), 8},
                 {idle ? "-" : number(f.per_second()), 11},
                 {idle ? "-" : number(us_of(f.median) / 1000), 10},
                 {idle ? "-" : number(us_of(f.p99) / 1000), 9},
                 {percent(f.cpu_share(0)), 11},
                 {percent(f.cpu_share(1)), 9},
                 {percent(f.disk_share(0)), 7},
                 {each(all.requests), 12},
                 {each(all.bytes_sent), 9}});
    }
  }

  void add_goals(const results& found, goal_list& goals) const override {
    std::optional<double> largest;
    for (const auto& w : workloads())
      for (const auto n : w.clients) {
        if (is_calibrated(w.name, n)) continue;
        const auto ratio =
            found.ratio(series_of(w.name, n), figure::operations_per_second, model, real);
        if (ratio) largest = std::max(largest.value_or(0), 100 * std::abs(*ratio - 1));
      }
    goals.add("ensemble-model-error-percent", largest, comparison::at_most, largest_error_goal);
  }

 private:
  struct extrapolated_row {
    std::string title;
    std::size_t clients;
    workload_figures found;
  };

  void extrapolate() {
    const auto apart = separate_machines(calibrated_);
    auto lagging = apart;
    lagging.lag = 50ms;
    for (std::size_t n = 10; n <= most_clients_; n *= 10)
      extrapolated_.push_back({"one lock", n, simulated::run_contended_lock(apart, n, 1000)});
    for (std::size_t n = 10; n <= most_clients_; n *= 10)
      extrapolated_.push_back({"one lock, a follower lags by 50 ms", n,
                               simulated::run_contended_lock(lagging, n, 300)});
    for (std::size_t n = 10; n <= most_clients_; n *= 10)
      extrapolated_.push_back({"own locks", n, simulated::run_own_locks(apart, n, 5 * n + 1000)});
    for (std::size_t n = 10; n <= most_clients_; n *= 10)
      extrapolated_.push_back({"idle sessions", n, simulated::run_idle_sessions(apart, n)});
  }

  std::unique_ptr<testing::zookeeper_ensemble> servers_;
  simulated::ensemble_options calibrated_;
  std::vector<extrapolated_row> extrapolated_;
  std::chrono::milliseconds time_{4s};
  std::size_t most_clients_{10'000};
};

}  // namespace
}  // namespace conclave::bench

int main(int argc, char** argv) {
  using namespace conclave::bench;
  return benchmark_main(argc, argv, nullptr, [] { return std::make_unique<ensemble_benchmark>(); });
}
