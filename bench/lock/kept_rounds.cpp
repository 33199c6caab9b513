#include "kept_rounds.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include <conclave/mutex.hpp>

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr int samples = 60;

double us_since(clock::time_point begun) {
  return std::chrono::duration<double, std::micro>(clock::now() - begun).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

lock_options keeping() {
  lock_options options;
  options.keep_for = 60s;
  return options;
}

// Locks until two holds have the same token.
void wait_until_kept(mutex& m) {
  for (std::int64_t last = 0;;) {
    const std::scoped_lock guard{m};
    if (std::exchange(last, m.fencing_token()) == last) return;
  }
}

// The counter is what the lock protects. It also keeps the compiler from removing the loop.
template <class Mutex>
figures measure(Mutex& m, std::size_t threads, std::chrono::milliseconds measured) {
  std::atomic<bool> stop{false};
  long counter = 0;
  std::vector<long> counts(threads);
  std::vector<std::thread> all;
  const auto begun = clock::now();
  for (std::size_t i = 0; i < threads; ++i)
    all.emplace_back([&, i] {
      long mine = 0;
      for (; !stop.load(std::memory_order_relaxed); ++mine) {
        const std::lock_guard guard{m};
        ++counter;
      }
      counts[i] = mine;
    });
  std::this_thread::sleep_for(measured);
  stop = true;
  for (auto& t : all) t.join();
  const auto seconds = us_since(begun) / 1e6;
  long sum = 0;
  for (const auto each : counts) sum += each;
  if (sum != counter) throw std::runtime_error("two threads held the lock at the same time");
  return {{figure::operations_per_second, static_cast<double>(counter) / seconds}};
}

}  // namespace

figures measure_kept_lock(const std::string& servers, const std::string& path, std::size_t threads,
                          std::chrono::milliseconds measured) {
  client zk{servers};
  mutex m{zk, path, keeping()};
  wait_until_kept(m);
  return measure(m, threads, measured);
}

figures measure_std_mutex(std::size_t threads, std::chrono::milliseconds measured) {
  std::mutex m;
  return measure(m, threads, measured);
}

figures measure_recall(const std::string& servers, const std::string& path) {
  client first{servers};
  client second{servers};
  mutex kept{first, path, keeping()};
  mutex other{second, path};
  std::vector<double> kept_us;
  std::vector<double> free_us;
  const auto lock_other = [&](std::vector<double>& into) {
    const auto begun = clock::now();
    other.lock();
    into.push_back(us_since(begun));
    other.unlock();
    second.sync();  // the release is complete
  };
  for (int i = 0; i < samples; ++i) {
    lock_other(free_us);
    wait_until_kept(kept);
    lock_other(kept_us);
  }
  return {{figure::latency_us, median(kept_us) - median(free_us)}};
}

figures measure_hand_off(const std::string& servers, const std::string& path) {
  client first{servers};
  client second{servers};
  mutex held{first, path};
  mutex other{second, path};
  std::vector<double> all;
  for (int i = 0; i < samples; ++i) {
    held.lock();
    auto granted = std::async(std::launch::async, [&] {
      other.lock();
      return clock::now();
    });
    while (first.children(path).names.size() < 2) {
    }
    std::this_thread::sleep_for(2ms);  // the waiter sets its watches
    const auto released = clock::now();
    held.unlock();
    all.push_back(std::chrono::duration<double, std::micro>(granted.get() - released).count());
    other.unlock();
    second.sync();
  }
  return {{figure::latency_us, median(all)}};
}

}  // namespace conclave::bench
