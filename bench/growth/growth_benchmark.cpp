// bench_growth: what n of one thing cost, from 100 to 1,000,000, and the exponent of the growth.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <conclave/version.hpp>

#include "driver/conclave_server.hpp"
#include "driver/driver.hpp"
#include "driver/json.hpp"
#include "driver/process.hpp"
#include "driver/recipe_benchmark.hpp"
#include "driver/system_status.hpp"
#include "driver/zookeeper.hpp"
#include "growth_series.hpp"
#include "peers.hpp"
#include "plots.hpp"
#include "step_figures.hpp"
#include "workloads.hpp"

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto rest = 60s;
constexpr std::size_t spare_descriptors = 200;  // of a process, beside its sessions

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

double kib_of_files(const std::filesystem::path& folder) {
  double sum = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) sum += static_cast<double>(entry.file_size()) / 1024;
  return sum;
}

figures with_cost_of_one(figures found, std::size_t n) {
  if (const auto cpu = found.find(figure::cpu_seconds); cpu != found.end()) {
    found[figure::cpu_us_each] = cpu->second * 1e6 / static_cast<double>(n);
    found[figure::bytes_each] = found.at(figure::bytes) / static_cast<double>(n);
  }
  return found;
}

// A step with this n on a server without data. The worker is a new process.
figures measure_step(const std::string& workload, const std::string& servers, pid_t server,
                     std::size_t n) {
  return with_cost_of_one(
      measure_in_worker({workload, servers, std::to_string(server), std::to_string(n)}), n);
}

testing::zookeeper_options apache_options() {
  auto options = measured_server_options(true);
  options.config["maxClientCnxns"] = "0";
  return options;
}

// Starts a stopped server again, with its nodes, and connects to it.
template <class Server>
void measure_restart(figures& found, Server& server) {
  const auto begun = clock::now();
  server.start_again();
  client zk(server.connect_string());
  await_connection(zk);
  found[figure::restart_seconds] = seconds_since(begun);
  found[figure::restart_cpu_seconds] = cpu_us_of(server.pid()) / 1e6;
  found[figure::restarted_kib] = resident_kib_of(server.pid());
}

figures measure_on_apache(const growth_series& s, std::size_t n) {
  testing::zookeeper_server server(apache_options());
  auto found = measure_step(s.workload, server.connect_string(), server.pid(), n);
  if (s.workload == "nodes") {
    server.stop_gracefully();
    measure_restart(found, server);
  }
  return found;
}

figures measure_on_apache(const char* peer, const growth_series& s, std::size_t n) {
  const testing::zookeeper_server server(apache_options());
  return with_cost_of_one(measure_peer(peer, s.workload, server, n), n);
}

// Predicts the time of the next step of one variant, from the last step and the growth so far.
class step_times {
 public:
  void add(std::size_t n, double seconds) { all_.push_back({static_cast<double>(n), seconds}); }
  double predict(std::size_t n) const {
    if (all_.empty()) return 0;
    constexpr double least_seconds = 0.5;  // below this, the start of the processes matters
    const auto growth = std::max(1.0, growth_exponent(all_, least_seconds).value_or(1));
    return all_.back().cost * std::pow(static_cast<double>(n) / all_.back().n, growth);
  }

 private:
  std::vector<cost_at> all_;
};

// The message of a worker follows the name of its program.
std::string last_line(std::string text) {
  text.erase(text.find_last_not_of('\n') + 1);
  return text.substr(text.rfind('\n') + 1);
}

std::string text_of_exponent(std::optional<double> value) { return value ? number(*value) : "-"; }

class growth_benchmark final : public benchmark {
 public:
  growth_benchmark() : series_(all_growth_series()) {
    options.rounds = 1;
#ifdef CONCLAVE_BENCH_SERVER
    our_command_ = {CONCLAVE_BENCH_SERVER};
#endif
  }

  description about() const override {
    std::string names;
    std::size_t line = 0;
    for (const auto& s : series_) {
      const bool is_full = line + s.workload.size() > 60;
      names += (is_full ? "\n" : "") + s.workload + ", ";
      line = (is_full ? 0 : line) + s.workload.size() + 2;
    }
    return {
        "growth",
        "Measures the cost of n locks, items, sessions and so on, for n from 100 to 100,000 or\n"
        "1,000,000, and the exponent with which the cost grows. Conclave runs on its own server\n"
        "and on Apache ZooKeeper, where Curator and kazoo run the same workloads. The benchmark\n"
        "starts the servers itself, and stops them again.",
        "steps of at most 1,000 and no rest", '\n' + names + rest_series};
  }

  std::vector<option> extra_options() override {
    return {{"--embedded-only", "", "leave out Apache ZooKeeper, Curator and kazoo",
             [this](const std::string&) { with_apache_ = with_peers_ = false; }},
            {"--no-peers", "", "leave out Curator and kazoo",
             [this](const std::string&) { with_peers_ = false; }}};
  }

  void use_quick_rounds() override {
    is_quick_ = true;
    for (auto& s : series_) std::erase_if(s.steps, [](std::size_t n) { return n > 1'000; });
  }

  environment prepare() override {
    if (our_command_.empty()) throw std::runtime_error("this build has no `conclave` program");
    descriptors_ = allow_many_descriptors();
    environment where{
        {"conclave", std::string(version) + ", server on loopback TCP, durable"},
        {"data", file_system_of(options.folder)},
        {"machine", machine()},
        {"compiler", compiler()},
        {"started", started_now()},
        {"steps", "each has a new server and a new client process"},
        {"bytes", "payload of the client's TCP connections, both directions (TCP_INFO)"},
        {"frames", "requests, replies and watch events, counted by the server (srvr)"},
        {"exponent",
         "of the fit cost = c * n^exponent; CPU: of client and server together, steps "
         "with at least 0.05 s"},
    };
    if (with_apache_)
      where.insert(where.begin() + 1,
                   {"apache", version_of(testing::zookeeper_server(apache_options()))});
    if (with_peers_)
      where.insert(where.begin() + 2,
                   {"peers", "Curator " + version_of_jar("curator-recipes") + ", kazoo " +
                                 version_of_kazoo() + ", on Apache ZooKeeper"});
    return where;
  }

  void run(round_runner& runner) override {
    for (const auto& s : series_) run_series(runner, s);
    if (!is_quick_ && runner.is_wanted(rest_series)) run_rest(runner);
  }

  void print_tables(const results& found) const override {
    for (const auto& s : series_) print_steps(found, s);
    print_rest(found);
    std::printf("\nExponents on the embedded server\n");
    print_row({{"", 26}, {"CPU", 10}, {"time", 10}, {"bytes", 10}, {"frames", 10}});
    for (const auto& s : series_) {
      if (costs(found, s, variant::embedded, figure::bytes).size() < 2) continue;
      const auto of = [&](const char* figure) {
        return text_of_exponent(exponent(found, s, variant::embedded, figure));
      };
      print_row({{s.workload, 26},
                 {text_of_exponent(cpu_exponent(found, s, variant::embedded)), 10},
                 {of(figure::seconds), 10},
                 {of(figure::bytes), 10},
                 {of(figure::frames), 10}});
    }
  }

  void add_goals(const results& found, goal_list& goals) const override {
    using enum comparison;
    constexpr double most = 1.1;
    for (const auto& s : series_) {
      if (s.grows)
        goals.add(s.workload + "-cpu-exponent", cpu_exponent(found, s, variant::embedded), at_most,
                  most);
      if (s.workload != "long-holds")
        goals.add(s.workload + "-bytes-exponent",
                  exponent(found, s, variant::embedded, figure::bytes), at_most, most);
    }
    const auto of = [&](const std::string& step, const char* figure) {
      const auto* s = found.find(step);
      return s && s->has(variant::embedded) &&
                     s->rounds.at(variant::embedded).front().contains(figure)
                 ? std::optional(s->of(variant::embedded, figure).median)
                 : std::nullopt;
    };
    goals.add("idle-consumers-3000-bytes-per-second",
              of("idle-consumers-3000", figure::bytes_per_second), at_most, 1e5);
    goals.add("idle-consumers-3000-server-core-share",
              of("idle-consumers-3000", figure::server_core_share), at_most, 0.01);
    goals.add("consumers-2000-seconds", of("consumers-2000", figure::seconds), at_most, 3);
    for (const std::string name : {"queue-items", "queue-items-4"}) {
      const auto few = of(name + "-25000", figure::pop_cpu_us_per_item);
      const auto many = of(name + "-1000000", figure::pop_cpu_us_per_item);
      if (few && many) goals.add(name + "-pop-cpu-1000000-to-25000", *many / *few, at_most, 1.3);
    }
    goals.add("long-holds-100000-cpu-ms", of("long-holds-100000", figure::cpu_ms_per_hold), at_most,
              1);
    for (const char* name : {"readers", "writers", "candidates"})
      goals.add(std::string(name) + "-10000-seconds",
                of(std::string(name) + "-10000", figure::seconds), at_most, 10);
    goals.add("locks-held-100000-bytes-of-a-held-lock",
              of("locks-held-100000", figure::bytes_of_held_lock), at_most, 3 * 1024);
    goals.add("nodes-1000000-restart-seconds", of("nodes-1000000", figure::restart_seconds),
              at_most, 3);
    goals.add("multi-paths-100000-error-characters",
              of("multi-paths-100000", figure::error_characters), at_most, 1'000);
    for (const char* figure : {figure::rested_kib, figure::rested_file_kib})
      if (const auto many = of(rest_step(100'000), figure))
        goals.add(std::string("rest-100000-to-100-") + figure, *many / *of(rest_step(100), figure),
                  at_most, 1.5);
  }

  void add_notes(const results& found, note_list& notes) const override {
    for (const auto& s : series_)
      for (const char* figure : {figure::seconds, figure::frames})
        if (s.grows)
          notes.add(s.workload + '-' + figure + "-exponent",
                    exponent(found, s, variant::embedded, figure));
  }

  std::vector<plot> plots(const results& found) const override {
    return growth_plots(found, series_);
  }

 private:
  static std::string rest_step(std::size_t n) {
    return std::string(rest_series) + '-' + std::to_string(n);
  }

  std::unique_ptr<conclave_server> start_server(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{"--max-connections", "40000",
                                       "--max-connections-per-address", "40000"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return std::make_unique<conclave_server>(our_command_, "full", std::filesystem::path(),
                                             arguments);
  }

  figures measure_on_embedded(const growth_series& s, std::size_t n) const {
    const auto server = start_server();
    auto found = measure_step(s.workload, server->connect_string(), server->pid(), n);
    if (s.workload == "nodes") {
      server->stop();
      measure_restart(found, *server);
    }
    return found;
  }

  void run_series(round_runner& runner, const growth_series& s) {
    using measure_function = std::function<figures(std::size_t)>;
    struct variant_run {
      std::string name;
      measure_function measure;
      double limit_seconds;
      step_times times;
      bool stopped{false};
    };
    std::vector<variant_run> runs{
        {variant::embedded, [&](std::size_t n) { return measure_on_embedded(s, n); }, 120, {}}};
    if (with_apache_ && s.on_apache)
      runs.push_back(
          {variant::apache, [&](std::size_t n) { return measure_on_apache(s, n); }, 60, {}});
    if (with_peers_ && is_workload_of_peers(s.workload))
      for (const char* peer : {variant::curator, variant::kazoo})
        runs.push_back(
            {peer, [&s, peer](std::size_t n) { return measure_on_apache(peer, s, n); }, 60, {}});

    for (const auto n : s.steps) {
      const auto name = s.step_name(n);
      if (!runner.is_wanted(name)) continue;
      series step{name, std::to_string(n) + ' ' + s.title, {}, {}};
      runner.progress().begin_step(step.title, runs.size() * options.rounds);
      for (auto& each : runs) {
        if (each.stopped) continue;
        const auto stop = [&](const std::string& why) {
          each.stopped = true;
          runner.found().remarks.push_back(s.workload + " on " + each.name + " ends before " +
                                           std::to_string(n) + ": " + why);
        };
        if (needs_sessions(s) && n + spare_descriptors > descriptors_) {
          stop("a process may open only " + std::to_string(descriptors_) + " descriptors");
          continue;
        }
        if (const auto predicted = each.times.predict(n);
            s.grows && predicted > each.limit_seconds) {
          stop("it would take about " + number(predicted) + " s");
          continue;
        }
        try {
          for (std::size_t round = 0; round < options.rounds; ++round) {
            const auto begun = clock::now();
            auto found = each.measure(n);
            each.times.add(n, seconds_since(begun));
            step.rounds[each.name].push_back(std::move(found));
            runner.progress().round_done(each.name);
          }
          step.variants.push_back(each.name);
        } catch (const std::exception& e) {
          step.rounds.erase(each.name);
          stop(last_line(e.what()));
        }
      }
      if (!step.variants.empty()) runner.found().all.push_back(std::move(step));
    }
  }

  static bool needs_sessions(const growth_series& s) {
    return s.workload == "sessions" || s.workload == "consumers" || s.workload == "idle-consumers";
  }

  // All steps rest at the same time. The lock's nodes are containers, which the server removes.
  void run_rest(round_runner& runner) const {
    const std::size_t steps[] = {100, 1'000, 10'000, 100'000};
    std::vector<std::unique_ptr<conclave_server>> servers;
    std::vector<series> all;
    runner.progress().begin_step("locks came and went, and a minute of rest", std::size(steps));
    for (const auto n : steps) {
      servers.push_back(start_server({"--container-check", "1s"}));
      const auto& server = *servers.back();
      auto found = measure_step("locks-held", server.connect_string(), server.pid(), n);
      all.push_back({rest_step(n),
                     "server after " + std::to_string(n) + " locks and a minute of rest",
                     {variant::embedded},
                     {{variant::embedded, {std::move(found)}}}});
      runner.progress().round_done(variant::embedded);
    }
    std::this_thread::sleep_for(rest);
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto& found = all[i].rounds.at(variant::embedded).front();
      found[figure::rested_kib] = resident_kib_of(servers[i]->pid());
      found[figure::rested_file_kib] = kib_of_files(servers[i]->data_directory());
      runner.found().all.push_back(std::move(all[i]));
    }
  }

  void print_steps(const results& found, const growth_series& s) const {
    const char* const variants[] = {variant::embedded, variant::apache, variant::curator,
                                    variant::kazoo};
    bool has_header = false;
    for (const std::string name : variants)
      for (const auto n : s.steps) {
        const auto* step = found.find(s.step_name(n));
        if (!step || !step->has(name)) continue;
        if (!std::exchange(has_header, true)) print_header(s);
        print_step(*step, name, n);
      }
  }

  static void print_header(const growth_series& s) {
    std::printf("\n%s\n", s.title.c_str());
    print_row({{"", 18},
               {"n", 10},
               {"s", 10},
               {"client CPU s", 14},
               {"server CPU s", 14},
               {"CPU us each", 13},
               {"client MiB", 12},
               {"server MiB", 12},
               {"MB", 10},
               {"bytes each", 12},
               {"frames", 12},
               {"", 0}});
  }

  static void print_step(const series& step, const std::string& name, std::size_t n) {
    const auto has = [&](const char* figure) {
      return step.rounds.at(name).front().contains(figure);
    };
    const auto cell = [&](const char* figure, double scale = 1) {
      return has(figure) ? number(step.of(name, figure).median * scale) : std::string("-");
    };
    std::string more;
    const auto add = [&](const char* figure, double scale, const char* text) {
      if (has(figure)) more += (more.empty() ? "" : ", ") + cell(figure, scale) + ' ' + text;
    };
    add(figure::bytes_of_held_lock, 1, "bytes for each held lock");
    add(figure::cpu_ms_per_hold, 1, "ms of client CPU for each hold");
    add(figure::error_characters, 1, "characters in the error message");
    add(figure::pop_us_per_item, 1, "us to pop an item");
    add(figure::pop_cpu_us_per_item, 1, "us of CPU to pop an item");
    add(figure::bytes_per_second, 1e-3, "KB/s");
    add(figure::server_core_share, 100, "% of a core (server)");
    add(figure::restart_seconds, 1, "s to restart");
    add(figure::restart_cpu_seconds, 1, "s of CPU for it");
    add(figure::restarted_kib, 1.0 / 1024, "MiB then");
    print_row({{name, 18},
               {std::to_string(n), 10},
               {cell(figure::seconds), 10},
               {cell(figure::client_cpu_seconds), 14},
               {cell(figure::server_cpu_seconds), 14},
               {cell(figure::cpu_us_each), 13},
               {cell(figure::client_kib, 1.0 / 1024), 12},
               {cell(figure::server_kib, 1.0 / 1024), 12},
               {cell(figure::bytes, 1e-6), 10},
               {cell(figure::bytes_each), 12},
               {cell(figure::frames), 12},
               {more, 0}});
  }

  static void print_rest(const results& found) {
    constexpr figure_column columns[] = {
        {figure::server_kib, "with locks MiB", shown::median, 1.0 / 1024},
        {figure::rested_kib, "rested MiB", shown::median, 1.0 / 1024},
        {figure::rested_file_kib, "files MiB", shown::median, 1.0 / 1024},
    };
    for (const auto& s : found.all)
      if (s.name.starts_with(std::string(rest_series) + '-')) print_table(s, columns);
  }

  std::vector<growth_series> series_;
  std::vector<std::string> our_command_;
  std::size_t descriptors_{0};
  bool with_apache_{true};
  bool with_peers_{true};
  bool is_quick_{false};
};

void run_worker(std::span<const std::string> arguments) {
  if (arguments.size() != 4) throw std::runtime_error("only the benchmark itself starts workers");
  print_figures(run_workload(
      {arguments[0], arguments[1], std::stoi(arguments[2]), std::stoul(arguments[3])}));
}

}  // namespace
}  // namespace conclave::bench

int main(int argc, char** argv) {
  using namespace conclave::bench;
  return benchmark_main(argc, argv, run_worker,
                        [] { return std::make_unique<growth_benchmark>(); });
}
