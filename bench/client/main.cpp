// bench_client: our client beside libzookeeper_mt. See options.hpp for its use.
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "deep.hpp"
#include "environment.hpp"
#include "goals.hpp"
#include "harness/affinity.hpp"
#include "json_report.hpp"
#include "options.hpp"
#include "series.hpp"
#include "table.hpp"
#include "worker.hpp"

namespace conclave::bench {
namespace {

constexpr std::size_t window = 256;

std::vector<series> run_all(const testing::zookeeper_server& server, std::size_t rounds,
                            nodes& tree, progress_display& progress) {
  const auto run = [&](const series_plan& plan) {
    return run_series(plan, server.connect_string(), tree, progress);
  };
  std::vector<series> all;
  // The first unmeasured rounds are also what the server's JIT compiler learns from.
  all.push_back(run({series_name::creates, "Pipelined creates, window 256", kind::creates, 10'000,
                     1'000, window, rounds, 3, std::nullopt}));
  all.push_back(run({series_name::gets, "Pipelined gets, window 256", kind::gets, 20'000, 1'000,
                     window, rounds, 2, std::nullopt}));
  const int cpu = last_allowed_cpu();
  {
    const pinned_process pinned(server.pid(), cpu);
    all.push_back(run({series_name::creates_one_core,
                       "Pipelined creates, window 256, client and server on one core",
                       kind::creates, 10'000, 1'000, window, rounds, 1, cpu}));
    all.push_back(run({series_name::one_core, "Blocking get, client and server on one core",
                       kind::blocking_gets, 5'000, 500, 1, rounds, 2, cpu}));
  }
  all.push_back(run({series_name::all_cores, "Blocking get, all cores", kind::blocking_gets, 5'000,
                     500, 1, rounds, 1, std::nullopt}));
  return all;
}

void run_benchmark(const options& wanted) {
  const auto configuration = server_options();
  const testing::zookeeper_server server(configuration);
  const auto where = describe_environment(server, configuration);
  print_environment(where);
  std::fflush(stdout);

  nodes tree(server.connect_string());
  std::vector<series> all;
  std::vector<deep_cost> costs;
  {
    progress_display progress;
    all = run_all(server, wanted.rounds, tree, progress);
    if (wanted.deep) costs = measure_deep(server.connect_string(), window, tree, progress);
  }
  const auto goals = judge(all);
  for (const auto& s : all) print_series(s);
  if (!costs.empty()) print_deep(costs);
  if (!wanted.json.empty()) write_json(wanted.json, where, all, costs, goals);
  std::printf("\n");
  for (const auto& g : goals) std::printf("%s\n", to_note(g).c_str());
  for (const auto& g : goals) std::printf("%s\n", to_line(g.to_plain).c_str());
}

}  // namespace
}  // namespace conclave::bench

int main(int argc, char** argv) {
  using namespace conclave::bench;
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (!arguments.empty() && arguments.front() == worker_option) {
      run_worker(from_arguments(arguments));
      return 0;
    }
    const auto wanted = parse_options(arguments);
    if (wanted.help)
      std::fputs(usage, stdout);
    else
      run_benchmark(wanted);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_client: %s\n", e.what());
    return 1;
  }
}
