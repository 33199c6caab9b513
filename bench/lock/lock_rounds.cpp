#include "lock_rounds.hpp"

#include <algorithm>
#include <sstream>
#include <thread>

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto wait_queue_limit = 20s;
constexpr auto measured_limit = 12s;

// Counts both directions, because a server may not have sent a requested long list yet.
std::size_t received_and_sent(const round_servers& on) {
  std::size_t sum = 0;
  for (const auto* server : on.servers) {
    const auto status = server->ask("srvr");
    for (const std::string name : {"Received: ", "Sent: "}) {
      const auto at = status.find(name);
      if (at == std::string::npos)
        throw std::runtime_error("the server does not report '" + name + "':\n" + status);
      sum += std::stoul(status.substr(at + name.size()));
    }
  }
  return sum;
}

figures counts_of(const testing::link_proxy* proxy) {
  if (!proxy) return {};
  const auto requests = static_cast<double>(proxy->client_frames());
  const auto replies = static_cast<double>(proxy->server_frames());
  const auto to_server = static_cast<double>(proxy->bytes_to_server());
  const auto to_client = static_cast<double>(proxy->bytes_to_client());
  return {{figure::requests, requests},
          {figure::replies, replies},
          {figure::events, static_cast<double>(proxy->events())},
          {figure::frames, requests + replies},
          {figure::bytes_to_server, to_server},
          {figure::bytes_to_client, to_client},
          {figure::bytes, to_server + to_client}};
}

figures figures_of(const round_plan& plan, const std::vector<lock_cycle>& cycles, time_span span) {
  return plan.contenders == 1 ? cycle_figures(cycles, span) : hand_off_figures(cycles, span);
}

}  // namespace

figures lock_rounds::measure_times(const round_plan& plan) {
  return measure_times(plan, {server().connect_string(), {&server()}, &control()});
}

figures lock_rounds::measure_times(const round_plan& plan, const round_servers& on) {
  const auto found = run(plan, on, nullptr);
  return figures_of(plan, found.cycles, found.span);
}

figures lock_rounds::measure_traffic(const round_plan& plan) {
  const testing::link_proxy proxy(server().port());
  const auto found = run(plan, {proxy.connect_string(), {&server()}, &control()}, &proxy);
  const auto operations = figures_of(plan, found.cycles, found.span).at(figure::operations);
  figures result;
  for (const auto& [name, after] : found.after)
    result[name] = (after - found.before.at(name)) / operations;
  return result;
}

lock_rounds::recorded lock_rounds::run(const round_plan& plan, const round_servers& on,
                                       const testing::link_proxy* proxy) {
  recorded result;
  const auto path = new_path();
  prepare(plan, path, on.connect_string);
  try {
    await_wait_queue(plan, on, path);
    measure(plan, proxy, result);
  } catch (const round_too_slow&) {
    stop();
    throw;
  }
  result.cycles = stop();
  return result;
}

void lock_rounds::prepare(const round_plan& plan, const std::string& path,
                          const std::string& servers) {
  const auto workers = std::min(workers_of_a_library, plan.sessions);
  std::vector<std::string> arguments;
  std::size_t first = 0;
  for (std::size_t i = 0; i < workers; ++i) {
    const auto contenders = part(plan.contenders, workers, i);
    std::ostringstream text;
    text << plan.variant->mode << ' ' << servers << ' ' << path << ' '
         << part(plan.sessions, workers, i) << ' ' << contenders << ' ' << first;
    arguments.push_back(text.str());
    first += contenders;
  }
  prepare_workers(plan.variant->library, arguments);
}

// Waits until one contender holds the lock and all others wait for it.
void lock_rounds::await_wait_queue(const round_plan& plan, const round_servers& on,
                                   const std::string& path) {
  const auto deadline = clock::now() + wait_queue_limit;
  const auto check_deadline = [&](std::size_t length) {
    if (clock::now() < deadline) return;
    throw round_too_slow("after " + std::to_string(wait_queue_limit / 1s) + " s only " +
                         std::to_string(length) + " contenders were in the wait queue");
  };
  if (plan.variant->has_wait_queue) {
    const auto length = [&] {
      const auto node = on.control->exists(path);
      return node ? static_cast<std::size_t>(node->num_children) : 0;
    };
    for (auto n = length(); n < plan.contenders; n = length()) {
      check_deadline(n);
      std::this_thread::sleep_for(5ms);
    }
  }
  // New contenders still read their position. Waits until the servers are idle.
  constexpr std::size_t idle = 20;  // a session may send a ping
  for (auto before = received_and_sent(on);;) {
    std::this_thread::sleep_for(50ms);
    const auto now = received_and_sent(on);
    if (now < before + idle) break;
    before = now;
    check_deadline(plan.contenders);
  }
}

void lock_rounds::measure(const round_plan& plan, const testing::link_proxy* proxy,
                          recorded& result) {
  start_workers();
  std::this_thread::sleep_for(plan.warm_up);
  const auto before = count();
  const auto begun = clock::now();
  result.span.from = monotonic_ns();
  result.before = counts_of(proxy);
  std::this_thread::sleep_for(plan.measured);
  while (count() < before + plan.least_operations) {
    if (clock::now() > begun + measured_limit)
      throw round_too_slow("in " + std::to_string(measured_limit / 1s) + " s only " +
                           std::to_string(count() - before) + " hand-offs");
    std::this_thread::sleep_for(20ms);
  }
  result.after = counts_of(proxy);
  result.span.until = monotonic_ns();
}

std::vector<lock_cycle> lock_rounds::stop() {
  std::vector<std::string> files;
  for (std::size_t i = 0; i < workers_of_a_library; ++i)
    files.push_back((folder_.path() / std::to_string(i)).string());
  const auto workers = stop_workers(files).size();
  std::vector<lock_cycle> all;
  for (std::size_t i = 0; i < workers; ++i) {
    const auto some = read_cycles(files[i]);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace conclave::bench
