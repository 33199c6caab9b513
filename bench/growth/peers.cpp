#include "peers.hpp"

#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bytes_on_wire.hpp"
#include "driver/process.hpp"
#include "driver/system_status.hpp"
#include "step_figures.hpp"

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto peer_limit = 60s;

std::vector<std::string> command_of(const std::string& variant) {
  if (variant == variant::kazoo) return {"/usr/bin/python3", "-B", CONCLAVE_BENCH_KAZOO};
  return {CONCLAVE_BENCH_JAVA,
          "-Xmx2g",
          "-XX:-UsePerfData",
          "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
          "-cp",
          CONCLAVE_BENCH_CLASS_PATH,
          "conclave.bench.growth.GrowthWorker"};
}

struct counters {
  double client_cpu_us;
  double server_cpu_us;
  double bytes;
  double frames;
};

counters read(const testing::zookeeper_server& server, pid_t client) {
  return {cpu_us_of(client), cpu_us_of(server.pid()),
          static_cast<double>(bytes_on_wire(server.port(), client)),
          frames_of(server.connect_string())};
}

}  // namespace

bool is_workload_of_peers(const std::string& workload) {
  static const std::set<std::string> names{"locks-held", "locks-waited-for", "readers",
                                           "writers",    "candidates",       "queue-items"};
  return names.contains(workload);
}

figures measure_peer(const std::string& variant, const std::string& workload,
                     const testing::zookeeper_server& server, std::size_t n) {
  worker_process worker(command_of(variant), std::nullopt);
  worker.send("prepare " + workload + ' ' + server.connect_string() + ' ' + std::to_string(n));
  worker.receive("ready");
  const auto before = read(server, worker.pid());
  const auto begun = clock::now();
  worker.send("start");
  worker.receive("started");
  for (;;) {
    worker.send("count");
    if (std::stoul(worker.receive("count ")) >= n) break;
    if (clock::now() - begun > peer_limit) throw std::runtime_error("it takes more than a minute");
    std::this_thread::sleep_for(10ms);
  }
  const auto seconds = std::chrono::duration<double>(clock::now() - begun).count();
  const auto after = read(server, worker.pid());
  const auto client = (after.client_cpu_us - before.client_cpu_us) / 1e6;
  const auto on_server = (after.server_cpu_us - before.server_cpu_us) / 1e6;
  return {{figure::seconds, seconds},
          {figure::cpu_seconds, client + on_server},
          {figure::client_cpu_seconds, client},
          {figure::server_cpu_seconds, on_server},
          {figure::bytes, after.bytes - before.bytes},
          {figure::frames, after.frames - before.frames},
          {figure::client_kib, resident_kib_of(worker.pid())},
          {figure::server_kib, resident_kib_of(server.pid())}};
}

}  // namespace conclave::bench
