// bench_server: our server beside Apache ZooKeeper and Redis, under the same client.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <conclave/client.hpp>
#include <conclave/version.hpp>

#include "driver/conclave_server.hpp"
#include "driver/driver.hpp"
#include "driver/process.hpp"
#include "driver/system_status.hpp"
#include "driver/zookeeper.hpp"
#include "measured_interval.hpp"
#include "servers.hpp"
#include "support/four_letter_word.hpp"
#include "workloads.hpp"

namespace conclave::bench {
namespace figure {
constexpr const char* start_ms = "start_to_first_session_ms";
}
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

namespace variant {
constexpr const char* conclave = "conclave";
constexpr const char* apache = "apache";
constexpr const char* redis = "redis";
constexpr const char* conclave_awaited = "conclave, delete awaited";
constexpr const char* conclave_asynchronous = "conclave, asynchronous";
constexpr const char* conclave_socket = "conclave, Unix socket";
constexpr const char* redis_socket = "redis, Unix socket";
}  // namespace variant

namespace series_name {
constexpr const char* cycles_64 = "lock-cycles-64-sessions";
constexpr const char* cycles_8 = "lock-cycles-8-sessions";
constexpr const char* cycles_1 = "lock-cycles-1-session";
constexpr const char* creates = "pipelined-creates";
constexpr const char* start = "start-to-first-session";
constexpr const char* memory = "memory";
constexpr const char* redis = "redis-lock-cycles";
}  // namespace series_name

constexpr std::size_t memory_sessions = 1'000;

struct load_series {
  const char* name;
  const char* title;
  const char* workload;
  std::size_t sessions;
  std::size_t unmeasured;  // rounds
};
// The largest load comes first, because the first rounds warm up Java's compilers.
constexpr load_series load_series_list[] = {
    {series_name::cycles_64, "Lock cycles, 64 sessions", workload::lock_cycles, 64, 3},
    {series_name::cycles_8, "Lock cycles, 8 sessions", workload::lock_cycles, 8, 1},
    {series_name::cycles_1, "Lock cycles, 1 session", workload::lock_cycles, 1, 1},
    {series_name::creates, "Pipelined creates, window 256, 100 bytes", workload::pipelined_creates,
     1, 2},
};

constexpr figure_column columns[] = {
    {figure::operations_per_second, "operations/s", shown::median_and_spread},
    {figure::latency_us, "latency µs", shown::median},
    {figure::latency_p99_us, "p99 µs", shown::median},
    {figure::cpu_us_per_operation, "client µs/op", shown::median},
    {figure::client_core_share, "% of a core", shown::median, 100},
    {figure::server_cpu_us_per_operation, "server µs/op", shown::median},
    {figure::server_core_share, "% of a core", shown::median, 100},
    {figure::others_core_share, "others %", shown::median, 100},
    {figure::start_ms, "ms", shown::median_and_spread},
    {figure::resident_kib, "MiB", shown::median_and_spread, 1.0 / 1024},
};

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream words(text);
  for (std::string word; words >> word;) result.push_back(word);
  return result;
}

std::string joined(const std::vector<std::string>& words) {
  std::string result;
  for (const auto& word : words) result += (result.empty() ? "" : " ") + word;
  return result;
}

// Returns a path that no other round uses.
std::string new_root() {
  static int count = 0;
  return "/bench-" + std::to_string(++count);
}

round_source worker_rounds(std::string variant_name, round_task task) {
  return {std::move(variant_name), [task = std::move(task)]() mutable {
            task.root = new_root();
            return measure(task);
          }};
}

figures measure_memory(const std::string& servers, pid_t server) {
  return measure(
      {workload::memory, servers, server, std::nullopt, memory_sessions, {}, {}, new_root()});
}

figures milliseconds_since(clock::time_point start) {
  return {
      {figure::start_ms, std::chrono::duration<double, std::milli>(clock::now() - start).count()}};
}

// Measures the time from the start of the process, with an empty data folder, to the first session
// of a client. The client connects when the server prints that it is ready.
figures start_conclave(const std::vector<std::string>& command) {
  const auto start = clock::now();
  const conclave_server server(command, "full");
  client zk(server.connect_string());
  await_connection(zk);
  return milliseconds_since(start);
}

// Apache's server prints no such line, and clients that connect too early wait for seconds. So the
// benchmark requests the server's mode every millisecond, and the client connects after the first
// reply. The server must not run before the call, and it is killed at the end. Removes its data.
figures start_apache(testing::zookeeper_server& server) {
  std::filesystem::remove_all(server.data_directory());
  const auto start = clock::now();
  auto running = std::async(std::launch::async, [&] { server.start_again(); });
  while (testing::server_mode(server.port(), 20ms).empty()) std::this_thread::sleep_for(1ms);
  client zk(server.connect_string());
  await_connection(zk);
  auto found = milliseconds_since(start);
  running.get();
  zk.close();
  server.kill();
  return found;
}

double disturbed_rounds(const results& found) {
  double count = 0;
  for (const auto& s : found.all)
    for (const auto& [name, rounds] : s.rounds)
      count += static_cast<double>(std::count_if(rounds.begin(), rounds.end(), is_disturbed));
  return count;
}

class server_benchmark final : public benchmark {
 public:
  server_benchmark() {
    options.rounds = 7;
#ifdef CONCLAVE_BENCH_SERVER
    our_command_ = {CONCLAVE_BENCH_SERVER};
#endif
  }

  description about() const override {
    return {
        "server",
        "Compares Conclave's server with Apache ZooKeeper (both durable) and with Redis (neither\n"
        "durable), in alternating rounds. It starts all servers on the loopback interface and\n"
        "stops them at the end. The folder must be on a disk.",
        "few and short rounds", "lock-cycles,\npipelined-creates, start, memory, redis"};
  }

  std::vector<option> extra_options() override {
    return {{"--ours-command", "COMMAND",
             "the command to start instead of `conclave`, separated by spaces; with\n"
             "bench/server/apache-stand-in, the ratios show how fair and how noisy the\n"
             "benchmark is, because it compares Apache with itself",
             [this](const std::string& value) { our_command_ = words_of(value); }}};
  }

  void use_quick_rounds() override {
    options.rounds = 3;
    start_rounds_ = 3;
    memory_rounds_ = 1;
    warm_up_ = 200ms;
    measured_ = 500ms;
  }

  environment prepare() override {
    if (our_command_.empty())
      throw std::runtime_error("this build has no `conclave` program: give an --ours-command");
    allow_many_descriptors();  // a thousand sessions need more than the usual soft limit
    const auto file_system = file_system_of(options.folder);
    const auto theirs = apache_options();
    const auto apache_version = version_of(testing::zookeeper_server(theirs));
    flush_us_before_ = flush_us(options.folder);
    return {
        {"conclave", std::string(version) + ": " + joined(our_command_)},
        {"apache", apache_version + ' ' + joined(theirs.jvm_flags) + ", forceSync=yes"},
        {"redis", redis_server::version() + ", no persistence"},
        {"client",
         std::string("conclave ") + version + " for both ZooKeeper servers, loopback TCP"},
        {"data", file_system},
        {"machine", machine()},
        {"compiler", compiler()},
        {"started", started_now()},
        {"figures", "medians of the rounds (smallest–largest); each round is a separate process"},
        {"others",
         "CPU time that neither client nor server used; a large value means a disturbed run"},
    };
  }

  void run(round_runner& runner) override {
    run_load_series(runner);
    run_start_series(runner);
    run_memory_series(runner);
    run_redis_series(runner);
    flush_us_after_ = flush_us(options.folder);
  }

  void print_tables(const results& found) const override {
    for (const auto& s : found.all) print_table(s, columns);
  }

  void add_goals(const results& found, goal_list& goals) const override {
    using enum comparison;
    goals.add("lock-cycles-1-session-ratio",
              rate_ratio(found, series_name::cycles_1, variant::conclave, variant::apache),
              at_least, 1.5);
    goals.add("lock-cycles-64-sessions-ratio",
              rate_ratio(found, series_name::cycles_64, variant::conclave, variant::apache),
              at_least, 4);
    // Our clients use the Unix socket on one machine by default. Apache's server has none.
    goals.add("lock-cycles-64-sessions-unix-socket-ratio",
              rate_ratio(found, series_name::cycles_64, variant::conclave_socket, variant::apache),
              at_least, 4);
    goals.add("start-to-first-session-ms",
              found.median(series_name::start, variant::conclave, figure::start_ms), at_most, 50);
    goals.add(
        "memory-ratio",
        found.ratio(series_name::memory, figure::resident_kib, variant::conclave, variant::apache),
        at_most, 0.2);
    goals.add("redis-lock-cycles-ratio",
              rate_ratio(found, series_name::redis, variant::conclave, variant::redis), at_least,
              1);
  }

  void add_notes(const results& found, note_list& notes) const override {
    notes.add("disk-flush-us-before", flush_us_before_);
    notes.add("disk-flush-us-after", flush_us_after_);
    notes.add("disturbed-rounds", disturbed_rounds(found));
    notes.add("lock-cycles-8-sessions-ratio",
              rate_ratio(found, series_name::cycles_8, variant::conclave, variant::apache));
    notes.add("pipelined-creates-ratio",
              rate_ratio(found, series_name::creates, variant::conclave, variant::apache));
    notes.add("start-to-first-session-ratio", found.ratio(series_name::start, figure::start_ms,
                                                          variant::conclave, variant::apache));
    notes.add("redis-lock-cycles-ratio-delete-awaited",
              rate_ratio(found, series_name::redis, variant::conclave_awaited, variant::redis));
    notes.add(
        "redis-lock-cycles-ratio-asynchronous",
        rate_ratio(found, series_name::redis, variant::conclave_asynchronous, variant::redis));
    notes.add(
        "redis-lock-cycles-ratio-unix-sockets",
        rate_ratio(found, series_name::redis, variant::conclave_socket, variant::redis_socket));
  }

 private:
  static std::optional<double> rate_ratio(const results& found, const char* name, const char* ours,
                                          const char* theirs) {
    return found.ratio(name, figure::operations_per_second, ours, theirs);
  }

  // Compares with Apache, both durable. The servers run during all rounds.
  void run_load_series(round_runner& runner) {
    std::optional<conclave_server> our_server;
    std::optional<testing::zookeeper_server> apache_server;
    for (const auto& s : load_series_list) {
      if (!runner.is_wanted(s.name)) continue;
      if (!our_server) {
        our_server.emplace(our_command_, "full", sockets_.path() / "durable");
        apache_server.emplace(apache_options());
      }
      const auto rounds_of = [&](const char* name, const std::string& servers, pid_t server) {
        return worker_rounds(
            name, {s.workload, servers, server, std::nullopt, s.sessions, warm_up_, measured_, ""});
      };
      std::vector<round_source> sources{
          rounds_of(variant::conclave, our_server->connect_string(), our_server->pid()),
          rounds_of(variant::apache, apache_server->connect_string(), apache_server->pid())};
      if (!our_server->socket_string().empty())
        sources.push_back(
            rounds_of(variant::conclave_socket, our_server->socket_string(), our_server->pid()));
      runner.add_series(s.name, s.title, {options.rounds, s.unmeasured}, std::move(sources));
    }
  }

  // Compares with Apache, both durable, with new servers in each round.
  void run_start_series(round_runner& runner) {
    if (!runner.is_wanted(series_name::start)) return;
    testing::zookeeper_server apache_server(apache_options());
    apache_server.kill();
    runner.add_series(
        series_name::start, "Start of the process to first session, empty data", {start_rounds_, 1},
        {{variant::conclave, [this] { return start_conclave(our_command_); }},
         {variant::apache, [&apache_server] { return start_apache(apache_server); }}});
  }

  void run_memory_series(round_runner& runner) {
    if (!runner.is_wanted(series_name::memory)) return;
    const auto of_conclave = [this] {
      const conclave_server server(our_command_, "full");
      return measure_memory(server.connect_string(), server.pid());
    };
    const auto of_apache = [] {
      const testing::zookeeper_server server(apache_options());
      return measure_memory(server.connect_string(), server.pid());
    };
    runner.add_series(
        series_name::memory, "Resident memory, 10,000 nodes of 100 bytes and 1,000 sessions",
        {memory_rounds_, 0}, {{variant::conclave, of_conclave}, {variant::apache, of_apache}});
  }

  // Compares with Redis, neither durable, client and server on one core.
  void run_redis_series(round_runner& runner) {
    if (!runner.is_wanted(series_name::redis)) return;
    const conclave_server our_server(our_command_, "none", sockets_.path() / "conclave");
    const redis_server their_server(sockets_.path() / "redis");
    const int cpu = last_allowed_cpu();
    const pinned_process our_pin(our_server.pid(), cpu);
    const pinned_process their_pin(their_server.pid(), cpu);

    const auto ours = [&](const char* name, const char* workload_name, const std::string& servers) {
      return worker_rounds(
          name, {workload_name, servers, our_server.pid(), cpu, 1, warm_up_, measured_, ""});
    };
    const auto theirs = [&](const char* name, const std::string& server) {
      return worker_rounds(name, {workload::redis_lock, server, their_server.pid(), cpu, 1,
                                  warm_up_, measured_, ""});
    };
    const auto& tcp = our_server.connect_string();
    std::vector<round_source> sources{
        ours(variant::conclave, workload::blocking_lock, tcp),
        theirs(variant::redis, their_server.address()),
        ours(variant::conclave_awaited, workload::blocking_lock_awaited, tcp),
        ours(variant::conclave_asynchronous, workload::asynchronous_lock, tcp)};
    if (!our_server.socket_string().empty()) {
      sources.push_back(
          ours(variant::conclave_socket, workload::blocking_lock, our_server.socket_string()));
      sources.push_back(theirs(variant::redis_socket, their_server.socket_address()));
    }
    runner.add_series(series_name::redis,
                      "Lock cycles of one client, nothing on disk, client and server on one core",
                      {options.rounds, 1}, std::move(sources));
  }

  // Created before --folder becomes the temporary folder, because the path of a socket must be
  // short.
  const testing::temporary_directory sockets_;
  std::vector<std::string> our_command_;  // `serve --data ...` is appended to it
  std::size_t start_rounds_{9};
  std::size_t memory_rounds_{3};
  std::chrono::milliseconds warm_up_{300};
  std::chrono::milliseconds measured_{1500};
  double flush_us_before_{0};
  double flush_us_after_{0};
};

}  // namespace
}  // namespace conclave::bench

int main(int argc, char** argv) {
  using namespace conclave::bench;
  return benchmark_main(argc, argv, run_server_worker,
                        [] { return std::make_unique<server_benchmark>(); });
}
