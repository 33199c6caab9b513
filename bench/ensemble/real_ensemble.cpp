#include "real_ensemble.hpp"

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <conclave/client.hpp>
#include <conclave/mutex.hpp>

#include "driver/zookeeper.hpp"

namespace conclave::bench {
namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto warm_up = 1s;

// Latencies of all clients. Used on the context's thread only.
class recorder {
 public:
  explicit recorder(std::chrono::milliseconds time)
      : begin_(clock::now() + warm_up), end_(begin_ + time) {}

  void record(clock::time_point from) {
    const auto now = clock::now();
    if (from < begin_ || now > end_) return;
    latencies_.push_back(std::chrono::duration<double, std::micro>(now - from).count());
  }
  bool is_over() const { return clock::now() > end_; }
  figures result() {
    std::sort(latencies_.begin(), latencies_.end());
    const auto seconds = std::chrono::duration<double>(end_ - begin_).count();
    return {{figure::operations_per_second, static_cast<double>(latencies_.size()) / seconds},
            {figure::latency_us, quantile(latencies_, 0.5)},
            {figure::latency_p99_us, quantile(latencies_, 0.99)}};
  }

 private:
  clock::time_point begin_, end_;
  std::vector<double> latencies_;
};

// Counts the clients that have ended. Used on the context's thread only.
class countdown {
 public:
  explicit countdown(std::size_t n) : left_(n) {}
  void one_ended() {
    if (--left_ == 0) all_ended_.set_value();
  }
  void failed(const error_code& ec) {
    all_ended_.set_exception(std::make_exception_ptr(std::runtime_error(ec.message())));
  }
  void wait() { all_ended_.get_future().get(); }

 private:
  std::size_t left_;
  std::promise<void> all_ended_;
};

std::string new_path() {
  static int count = 0;
  return "/bench-" + std::to_string(++count);
}

using sessions = std::vector<std::unique_ptr<client>>;

sessions open(const testing::zookeeper_ensemble& servers, std::size_t clients,
              const context& shared) {
  client_options options;
  options.session_timeout = 30s;
  return open_sessions(clients, servers.connect_string(), shared, options);
}

enum class latency { from_the_call, from_the_last_release };

// Each path is used by its own client, which acquires and releases the lock again and again.
figures measure_locks(const testing::zookeeper_ensemble& servers,
                      const std::vector<std::string>& paths, latency what,
                      std::chrono::milliseconds time) {
  const context shared;
  const auto all = open(servers, paths.size(), shared);
  std::vector<std::unique_ptr<mutex>> locks;
  for (std::size_t i = 0; i < paths.size(); ++i)
    locks.push_back(std::make_unique<mutex>(*all[i], paths[i]));
  recorder found(time);
  countdown ends(paths.size());
  clock::time_point released{};
  const std::function<void(mutex&)> use = [&](mutex& m) {
    const auto called = clock::now();
    m.async_lock([&, called](error_code ec) {
      if (ec) return ends.failed(ec);
      found.record(what == latency::from_the_call ? called : released);
      released = clock::now();
      m.unlock();
      if (found.is_over()) return ends.one_ended();
      use(m);
    });
  };
  for (std::size_t i = 0; i < paths.size(); ++i)
    run_on_context(*all[i], [&, i] { use(*locks[i]); });
  ends.wait();
  return found.result();
}

}  // namespace

figures measure_reads(const testing::zookeeper_ensemble& servers, std::size_t clients,
                      std::chrono::milliseconds time) {
  const context shared;
  const auto all = open(servers, clients, shared);
  recorder found(time);
  countdown ends(clients);
  const std::function<void(client&)> use = [&](client& zk) {
    const auto called = clock::now();
    zk.async_get("/", [&, called](error_code ec, const get_result&) {
      if (ec) return ends.failed(ec);
      found.record(called);
      if (found.is_over()) return ends.one_ended();
      use(zk);
    });
  };
  for (const auto& zk : all) run_on_context(*zk, [&, z = zk.get()] { use(*z); });
  ends.wait();
  return found.result();
}

figures measure_own_locks(const testing::zookeeper_ensemble& servers, std::size_t clients,
                          std::chrono::milliseconds time) {
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < clients; ++i) paths.push_back(new_path());
  return measure_locks(servers, paths, latency::from_the_call, time);
}

figures measure_contended_lock(const testing::zookeeper_ensemble& servers, std::size_t clients,
                               std::chrono::milliseconds time) {
  const std::vector<std::string> paths(clients, new_path());
  return measure_locks(servers, paths, latency::from_the_last_release, time);
}

}  // namespace conclave::bench
