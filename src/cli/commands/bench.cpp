// `conclave bench`: measures the speed of the connected server.
#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <iostream>
#include <random>
#include <thread>

#include "cli/bench/workloads.hpp"
#include "cli/command.hpp"
#include "cli/connect/connection.hpp"
#include "cli/doctor/host_facts.hpp"
#include "cli/exit_code.hpp"
#include "cli/nodes/subtree.hpp"
#include "cli/run/loop.hpp"
#include "cli/show/duration.hpp"
#include "cli/show/json.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

struct bench_flags {
  connect_flags connect;
  double seconds = 3;
  bool json = false;
};

// The node that the benchmarks run in. The destructor removes it and everything in it.
class benchmark_folder {
 public:
  explicit benchmark_folder(client& zk) : zk_{zk} {
    std::random_device random;
    std::array<char, 32> id{};
    std::snprintf(id.data(), id.size(), "%08x", static_cast<unsigned>(random()));
    path_ = std::string{root_path} + "/bench-" + id.data();
    make_parents(zk_, path_ + "/");
  }
  ~benchmark_folder() {
    try {
      if (!zk_.wait_connected(1s)) throw failure{unavailable, "no connection to the server"};
      remove_tree(zk_, path_);
    } catch (const std::exception& e) {
      std::cerr << "conclave: cannot remove " << path_ << ": " << e.what()
                << "; try: conclave znode rm -r " << path_ << "\n";
    }
  }
  benchmark_folder(const benchmark_folder&) = delete;
  benchmark_folder& operator=(const benchmark_folder&) = delete;

  const std::string& path() const { return path_; }

 private:
  client& zk_;
  std::string path_;
};

// The version and durability of the server that is tested.
struct server_details {
  std::string version = "unknown", durability = "unknown";

  server_details(const server_address& at, const std::string& hosts) {
    const auto all = examine_hosts(connect_string::parse(hosts).hosts, at.options.tls,
                                   std::chrono::steady_clock::now() + 1s);
    for (const auto& h : all) {
      if (h.version.empty()) continue;
      const auto ours = h.conclave_version();
      version = ours.empty() ? "ZooKeeper " + h.version.substr(0, h.version.find('-'))
                             : "conclave " + ours;
      if (all.size() == 1 && !ours.empty() && h.reports_data_folder)
        durability = h.data_folder.empty() ? "none" : "full";
    }
  }

  std::string durability_text() const {
    if (durability == "full") return "every change is on disk before it is confirmed";
    if (durability == "none") return "none: the server keeps its data in memory only";
    return "unknown: ask the operator of the server";
  }
};

class benchmark {
 public:
  explicit benchmark(const bench_flags& f) : flags_{f} {}

  int run() {
    loop_.on_signal([this](int s) { on_signal(s); });
    const std::jthread worker{[this] {
      std::exception_ptr failed;
      try {
        measure();
      } catch (...) {
        failed = std::current_exception();
      }
      loop_.post([this, failed] {
        if (failed && !interrupted_) std::rethrow_exception(failed);
        interrupted_ ? loop_.end_by(*interrupted_) : loop_.end(ok);
      });
    }};
    return loop_.run();
  }

 private:
  void on_signal(int s) {
    stop_on_ctrl_z(s);
    if (!is_ending_signal(s)) return;
    // Before the start, there is nothing to clean up. After a second signal, do not wait for the
    // cleanup.
    if (!started_ || interrupted_) die_of(s);
    interrupted_ = s;
    stop_.request_stop();
  }

  void measure() {
    auto address = find_server(flags_.connect);
    // Without a server there is nothing to measure, so fail early.
    address.options.connect_wait =
        std::min<std::chrono::milliseconds>(address.options.session_timeout, 5s);
    connection c{std::move(address)};
    const auto& at = c.at();
    print_server(c);
    started_ = true;
    const benchmark_folder w{c.zk()};
    const auto& folder = w.path();
    run_benchmark("lock", "lock and unlock, one client",
                  [&](const measurement_period& t) { return bench_lock(c.zk(), folder, t); });
    run_benchmark("hand_off", "hand-off among " + std::to_string(bench_clients) + " clients",
                  [&](const measurement_period& t) { return bench_hand_off(at, folder, t); });
    run_benchmark("create", "creates, " + std::to_string(bench_window) + " pending",
                  [&](const measurement_period& t) { return bench_creates(c.zk(), folder, t); });
    run_benchmark("get", "gets, one after another",
                  [&](const measurement_period& t) { return bench_gets(c.zk(), folder, t); });
    run_benchmark("queue", "queue: push and pop",
                  [&](const measurement_period& t) { return bench_queue(c.zk(), folder, t); });
    if (flags_.json && !stop_.stop_requested()) {
      document_["results"] = std::move(results_);
      print(document_);
    }
  }

  void print_server(connection& c) {
    const auto& at = c.at();
    const server_details details{at, at.hosts};
    const auto timeout = c.zk().session_timeout();
    document_ = {{"connect", at.hosts},
                 {"said_by", at.source},
                 {"version", details.version},
                 {"durability", details.durability},
                 {"session_timeout_ms", timeout.count()},
                 {"seconds", flags_.seconds}};
    if (flags_.json) return;
    std::cout << "server      " << at.hosts << " (" << at.source << "), " << details.version << "\n"
              << "durability  " << details.durability_text() << "\n"
              << "session     timeout " << short_time(timeout) << "\n\n";
    std::printf("%-30s %12s %12s %12s\n", "", "per second", "median", "p99");
    std::fflush(stdout);
  }

  void run_benchmark(const char* name, const std::string& title,
                     const std::function<bench_result(const measurement_period&)>& f) {
    constexpr double parts = 5 * 1.1;  // five benchmarks, each with its warm-up
    if (stop_.stop_requested()) return;
    const auto time = std::chrono::duration<double>{flags_.seconds / parts};
    auto m = f(measurement_period{
        std::chrono::duration_cast<measurement_period::clock::duration>(time), stop_.get_token()});
    if (stop_.stop_requested()) return;
    json::object o{{"name", name}, {"count", m.count}, {"per_second", m.per_second()}};
    if (!m.each.empty()) {
      o["median_ms"] = m.percentile_ms(50);
      o["p99_ms"] = m.percentile_ms(99);
    }
    results_.push_back(o);
    if (flags_.json) return;
    std::printf("%-30s %12.0f", title.c_str(), m.per_second());
    if (!m.each.empty())
      std::printf(" %9.3f ms %9.3f ms", m.percentile_ms(50), m.percentile_ms(99));
    std::printf("\n");
    std::fflush(stdout);
  }

  const bench_flags& flags_;
  loop loop_;  // must be created before any other thread
  std::stop_source stop_;
  std::atomic<bool> started_{false};
  std::optional<int> interrupted_;  // used by the loop's thread only
  json::object document_;
  json::array results_;
};

int bench(bench_flags& f, const invocation&) { return benchmark{f}.run(); }

}  // namespace

void describe_bench(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<bench_flags>();
  app.description(
      "Measure the speed of the connected server. Runs five benchmarks: locks, hand-offs, "
      "creates,\n"
      "gets and a queue. Each one takes a fifth of the time, or longer if the server is slow. The\n"
      "nodes are below /conclave/bench-ID and are removed at the end. The load slows down other\n"
      "clients of the server.");
  app.footer(
      "Examples:\n"
      "  conclave bench\n"
      "  conclave bench --seconds 20 -C zk1,zk2,zk3 --json");
  app.add_option("--seconds", flags->seconds, "total duration in seconds")
      ->type_name("N")
      ->check(CLI::Range{0.1, 3600.0})
      ->capture_default_str();
  app.add_flag("--json", flags->json, "one line of JSON");
  add_connect_flags(app, flags->connect);
  when_used(app, call, flags, bench);
}

}  // namespace conclave::cli
