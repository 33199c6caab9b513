#include "workload.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

#include "client_library.hpp"
#include "driver/pipeline.hpp"
#include "driver/process.hpp"
#include "driver/stopwatch.hpp"

namespace conclave::bench {
namespace {

constexpr const char* root_path = "/bench";
constexpr const char* node_path = "/bench/node";  // for the workloads with gets
constexpr std::size_t removal_window = 256;

constexpr std::array<std::pair<workload, std::string_view>, 3> names{{
    {workload::creates, "creates"},
    {workload::gets, "gets"},
    {workload::blocking_gets, "blocking-gets"},
}};

workload workload_named(std::string_view name) {
  for (const auto& [w, text] : names)
    if (text == name) return w;
  throw std::runtime_error("unknown workload '" + std::string(name) + "'");
}

std::string node_data() { return std::string(32, 'x'); }

figures figures_of(const stopwatch& watch, std::size_t operations) {
  const auto n = static_cast<double>(operations);
  const double wall = watch.wall_us();
  const double user = watch.user_us();
  const double system = watch.system_us();
  return {{figure::operations_per_second, n * 1e6 / wall},
          {figure::cpu_us_per_operation, (user + system) / n},
          {figure::user_us_per_operation, user / n},
          {figure::system_us_per_operation, system / n},
          {figure::switches_per_operation, watch.switches() / n}};
}

std::vector<std::string> child_paths(const std::string& parent, char prefix, std::size_t count) {
  std::vector<std::string> paths;
  paths.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    paths.push_back(parent + '/' + prefix + std::to_string(i));
  return paths;
}

figures run_creates(client_library& library, const round_plan& plan, const std::string& parent) {
  const auto data = node_data();
  library.create(parent, data);
  library.create_all(child_paths(parent, 'w', plan.warm_up), data, plan.window);
  const auto paths = child_paths(parent, 'n', plan.operations);
  const stopwatch watch;
  library.create_all(paths, data, plan.window);
  return figures_of(watch, plan.operations);
}

figures run_gets(client_library& library, const round_plan& plan) {
  library.get_all(node_path, plan.warm_up, plan.window);
  const stopwatch watch;
  library.get_all(node_path, plan.operations, plan.window);
  return figures_of(watch, plan.operations);
}

figures run_blocking_gets(client_library& library, const round_plan& plan) {
  using clock = std::chrono::steady_clock;
  const auto deadline = clock::now() + time_limit;
  for (std::size_t i = 0; i < plan.warm_up; ++i) library.get(node_path);
  std::vector<double> latencies;
  latencies.reserve(plan.operations);
  const stopwatch watch;
  for (auto before = clock::now(); latencies.size() < plan.operations;) {
    library.get(node_path);
    const auto after = clock::now();
    latencies.push_back(std::chrono::duration<double, std::micro>(after - before).count());
    if (after > deadline) throw std::runtime_error("blocking gets did not complete in time");
    before = after;
  }
  auto result = figures_of(watch, plan.operations);
  std::sort(latencies.begin(), latencies.end());
  result[figure::latency_us] = quantile(latencies, 0.5);
  result[figure::latency_p99_us] = quantile(latencies, 0.99);
  return result;
}

figures run_round(client_library& library, const round_plan& plan, const std::string& parent) {
  switch (plan.what) {
    case workload::creates: return run_creates(library, plan, parent);
    case workload::gets: return run_gets(library, plan);
    case workload::blocking_gets: return run_blocking_gets(library, plan);
  }
  throw std::logic_error("run_round");
}

std::unique_ptr<client_library> make_library(std::string_view name, const std::string& servers) {
  if (name == variant::conclave) return make_conclave(servers);
  if (name == variant::libzookeeper) return make_libzookeeper(servers, name_resolution::by_default);
  if (name == variant::tuned_libzookeeper)
    return make_libzookeeper(servers, name_resolution::on_connecting_only);
  throw std::runtime_error("unknown client library '" + std::string(name) + "'");
}

std::vector<std::string> worker_arguments(const round_plan& plan, const std::string& variant,
                                          const std::string& servers, const std::string& parent) {
  return {variant,
          servers,
          parent,
          std::string(name_of(plan.what)),
          std::to_string(plan.operations),
          std::to_string(plan.warm_up),
          std::to_string(plan.window),
          to_argument(plan.cpu)};
}

}  // namespace

std::string_view name_of(workload w) { return names.at(static_cast<std::size_t>(w)).second; }

void run_client_worker(std::span<const std::string> arguments) {
  if (arguments.size() != 8) throw std::runtime_error("only the benchmark itself starts workers");
  const round_plan plan{workload_named(arguments[3]), std::stoul(arguments[4]),
                        std::stoul(arguments[5]), std::stoul(arguments[6]),
                        cpu_from_argument(arguments[7])};
  if (plan.cpu) pin_this_process(*plan.cpu);  // before the first thread
  const auto library = make_library(arguments[0], arguments[1]);
  print_figures(run_round(*library, plan, arguments[2]));
}

client_rounds::client_rounds(const std::string& servers) : servers_(servers), client_(servers) {
  client_.create(root_path);
  client_.create(node_path, node_data());
}

// Calls run() with the arguments of the worker. Each round creates its nodes below a separate
// parent.
template <class Run>
auto client_rounds::with_parent(const round_plan& plan, const std::string& variant, Run run) {
  if (plan.what != workload::creates)
    return run(worker_arguments(plan, variant, servers_, root_path));
  const auto parent = std::string(root_path) + "/round-" + std::to_string(++parents_);
  auto result = run(worker_arguments(plan, variant, servers_, parent));
  remove_with_children(parent);
  return result;
}

figures client_rounds::measure(const round_plan& plan, const std::string& variant) {
  return with_parent(plan, variant, measure_in_worker);
}

std::string client_rounds::trace(const round_plan& plan, const std::string& variant,
                                 const std::vector<std::string>& tracer) {
  return with_parent(plan, variant, [&tracer](const std::vector<std::string>& arguments) {
    return run_worker_process(arguments, tracer);
  });
}

void client_rounds::remove_with_children(const std::string& parent) {
  const auto children = client_.children(parent).names;
  run_pipelined(children.size(), removal_window, time_limit, [&](std::size_t number, auto handler) {
    client_.async_remove(parent + '/' + children[number], any_version, std::move(handler));
  });
  client_.remove(parent);
}

}  // namespace conclave::bench
