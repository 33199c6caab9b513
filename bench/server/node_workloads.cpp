#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>

#include "driver/pipeline.hpp"
#include "driver/process.hpp"
#include "driver/system_status.hpp"
#include "driver/zookeeper.hpp"
#include "measured_interval.hpp"
#include "workloads.hpp"

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t in_flight = 256;
constexpr std::size_t memory_nodes = 10'000;
constexpr auto settling_time = 1s;  // lets the server finish its work after the last reply

// The children of one node, with 100 bytes of data each.
class child_nodes {
 public:
  explicit child_nodes(std::string parent) : parent_(std::move(parent)) {}

  std::string path(std::size_t number) const { return parent_ + "/n" + std::to_string(number); }
  static std::string data() { return std::string(100, 'x'); }

  // Pipelined. Both functions wait for all operations and throw std::runtime_error if one fails.
  void create(client& zk, std::size_t count) const {
    run_pipelined(count, in_flight, time_limit, [&](std::size_t number, auto handler) {
      zk.async_create(path(number), data(), create_mode::persistent, std::move(handler));
    });
  }
  void remove(client& zk, std::size_t count) const {
    run_pipelined(count, in_flight, time_limit, [&](std::size_t number, auto handler) {
      zk.async_remove(path(number), any_version, std::move(handler));
    });
  }

 private:
  std::string parent_;
};

// Creates nodes until the interval ends. All functions except the constructor run on the context's
// thread.
class creator {
 public:
  creator(client& zk, const child_nodes& nodes, measured_interval& interval, pipeline& all)
      : zk_(zk), nodes_(nodes), interval_(interval), all_(all) {
    run_on_context(zk_, [this] {
      for (std::size_t i = 0; i < in_flight; ++i) create_next();
    });
  }
  creator(const creator&) = delete;
  creator& operator=(const creator&) = delete;

  std::size_t created() const { return next_; }

 private:
  void create_next() {
    zk_.async_create(nodes_.path(next_++), child_nodes::data(), create_mode::persistent,
                     [this, begun = measured_interval::clock::now()](error_code ec, const auto&) {
                       if (ec) std::fprintf(stderr, "a create failed: %s\n", ec.message().c_str());
                       if (!ec && interval_.operation_done(begun))
                         create_next();
                       else
                         all_.completed(!ec);
                     });
  }

  client& zk_;
  const child_nodes& nodes_;
  measured_interval& interval_;
  pipeline& all_;
  std::size_t next_{0};
};

}  // namespace

figures run_pipelined_creates(const round_task& task) {
  client zk(task.servers);
  await_connection(zk);
  zk.create(task.root);
  const child_nodes nodes(task.root);

  pipeline all(in_flight);
  measured_interval interval(task);
  const creator load(zk, nodes, interval, all);
  all.wait(time_limit);

  nodes.remove(zk, load.created());
  zk.remove(task.root);
  return interval.result();
}

figures run_memory(const round_task& task) {
  context shared;
  const auto sessions = open_sessions(task.sessions, task.servers, shared);
  auto& first = *sessions.front();
  first.create(task.root);
  const child_nodes nodes(task.root);
  nodes.create(first, memory_nodes);
  std::this_thread::sleep_for(settling_time);
  for (const auto& zk : sessions) zk->exists(task.root);  // throws if a session was lost
  return {{figure::resident_kib, resident_kib_of(task.server)}};
}

}  // namespace conclave::bench
