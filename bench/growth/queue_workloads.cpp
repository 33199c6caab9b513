// Items and consumers of a queue.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <conclave/queue.hpp>

#include "driver/system_status.hpp"
#include "driver/zookeeper.hpp"
#include "step_figures.hpp"
#include "workloads.hpp"

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr const char* path = "/growth";
constexpr std::size_t batch = 100;  // items of one push
constexpr std::size_t pushes_in_flight = 16;
constexpr std::size_t pops_in_flight = 64;  // of each consumer

class consumers {
 public:
  // The consumers are divided among the sessions.
  consumers(std::size_t count, std::size_t sessions, const std::string& servers)
      : sessions_(open_sessions(sessions, servers, context())) {
    for (std::size_t i = 0; i < count; ++i)
      queues_.push_back(std::make_unique<queue>(*sessions_[i % sessions], path));
  }
  ~consumers() { close(); }
  consumers(const consumers&) = delete;
  consumers& operator=(const consumers&) = delete;

  std::size_t size() const { return queues_.size(); }
  queue& operator[](std::size_t number) { return *queues_[number]; }

  // No handler runs afterwards.
  void close() {
    for (auto& zk : sessions_) zk->async_close([](error_code) {});
    for (auto& zk : sessions_) zk->close();
  }

 private:
  std::vector<std::unique_ptr<client>> sessions_;
  std::vector<std::unique_ptr<queue>> queues_;
};

void push(queue& to, std::size_t items) {
  run_all((items + batch - 1) / batch, pushes_in_flight, [&](std::size_t number, auto handler) {
    const auto count = std::min(batch, items - number * batch);
    to.async_push(std::vector<std::string>(count, std::string(100, 'x')), std::move(handler));
  });
}

figures run_items(const step_task& task, std::size_t consumer_count) {
  consumers all(consumer_count, consumer_count, task.servers);
  meter m(task);
  push(all[0], task.count);
  m.note_memory();
  const stopwatch popping;
  const auto server_before = cpu_us_of(task.server);
  run_all(task.count, consumer_count * pops_in_flight, [&](std::size_t number, auto handler) {
    all[number % consumer_count].async_pop(std::move(handler));
  });
  const auto wall = popping.wall_us();
  const auto cpu = popping.user_us() + popping.system_us() + cpu_us_of(task.server) - server_before;
  auto found = m.finish();
  found[figure::pop_us_per_item] = wall / static_cast<double>(task.count);
  found[figure::pop_cpu_us_per_item] = cpu / static_cast<double>(task.count);
  return found;
}

figures run_starting_consumers(const step_task& task, std::size_t sessions) {
  consumers all(task.count, sessions, task.servers);
  push(all[0], task.count);
  meter m(task);
  run_all(task.count, task.count,
          [&](std::size_t number, auto handler) { all[number].async_pop(std::move(handler)); });
  auto found = m.finish();
  all.close();
  return found;
}

// Until the work that follows the arrival of the consumers is done.
void await_idle_server(pid_t server) {
  constexpr auto interval = 500ms;
  const auto deadline = clock::now() + step_limit;
  for (;;) {
    const auto before = cpu_us_of(server);
    std::this_thread::sleep_for(interval);
    if (cpu_us_of(server) - before < 0.05 * std::chrono::microseconds(interval).count()) return;
    if (clock::now() > deadline) return;
  }
}

}  // namespace

figures run_queue_items(const step_task& task) { return run_items(task, 1); }

figures run_queue_items_of_four(const step_task& task) { return run_items(task, 4); }

figures run_consumers(const step_task& task) { return run_starting_consumers(task, task.count); }

figures run_consumers_of_one_session(const step_task& task) {
  return run_starting_consumers(task, 1);
}

figures run_idle_consumers(const step_task& task) {
  constexpr auto duration = 15s;  // longer than the intervals of pings and checks
  consumers all(task.count, task.count, task.servers);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].async_pop([](error_code, const std::optional<queue_item>&) {});
  std::this_thread::sleep_for(2s);
  await_idle_server(task.server);
  meter m(task);
  std::this_thread::sleep_for(duration);
  auto found = m.finish();
  const auto seconds = found.at(figure::seconds);
  found[figure::bytes_per_second] = found.at(figure::bytes) / seconds;
  found[figure::server_core_share] = found.at(figure::server_cpu_seconds) / seconds;
  found[figure::client_core_share] = found.at(figure::client_cpu_seconds) / seconds;
  all.close();
  return found;
}

}  // namespace conclave::bench
