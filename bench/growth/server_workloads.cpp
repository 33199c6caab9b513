// Sessions, watches and nodes.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <conclave/client.hpp>

#include "driver/zookeeper.hpp"
#include "step_figures.hpp"
#include "workloads.hpp"

namespace conclave::bench {
namespace {

constexpr std::size_t in_flight = 256;
constexpr const char* path = "/growth";

std::string path_of(std::size_t number) {
  return std::string(path) + "/n" + std::to_string(number);
}

void create_nodes(client& zk, std::size_t count) {
  run_all(count, in_flight, [&](std::size_t number, auto handler) {
    zk.async_create(path_of(number), std::string(100, 'x'), create_mode::persistent,
                    std::move(handler));
  });
}

}  // namespace

// n sessions with one read each.
figures run_sessions(const step_task& task) {
  meter m(task);
  const auto sessions = open_sessions(task.count, task.servers, context());
  run_all(task.count, in_flight, [&](std::size_t number, auto handler) {
    sessions[number]->async_exists("/", std::move(handler));
  });
  auto found = m.finish();
  for (const auto& zk : sessions) zk->async_close([](error_code) {});
  for (const auto& zk : sessions) zk->close();
  return found;
}

// n watches of one session, which n creations fire.
figures run_watches(const step_task& task) {
  client zk(task.servers);
  await_connection(zk);
  zk.create(path);
  pipeline fired(task.count);
  meter m(task);
  run_all(task.count, in_flight, [&](std::size_t number, auto handler) {
    zk.async_exists(
        path_of(number), [&fired](const watch_event&) { fired.completed(true); },
        std::move(handler));
  });
  m.note_memory();
  create_nodes(zk, task.count);
  await_all(fired);
  auto found = m.finish();
  zk.close();
  return found;
}

figures run_nodes(const step_task& task) {
  client zk(task.servers);
  await_connection(zk);
  zk.create(path);
  meter m(task);
  create_nodes(zk, task.count);
  auto found = m.finish();
  zk.close();
  return found;
}

}  // namespace conclave::bench
