#include "cli/bench/workloads.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "conclave/mutex.hpp"
#include "conclave/queue.hpp"

namespace conclave::cli {
namespace {

using clock = measurement_period::clock;

const std::string payload(100, 'x');

template <class F>
bench_result one_by_one(const measurement_period& t, F f) {
  bench_result m;
  auto now = clock::now();
  auto counted_from = now;
  while (!t.is_over(now, !m.each.empty())) {
    const auto begin = now;
    f();
    now = clock::now();
    if (t.counts(begin))
      m.each.push_back(now - begin);
    else
      counted_from = now;
  }
  m.count = m.each.size();
  m.time = now - counted_from;
  return m;
}

// Several clients that hand one lock to each other.
class hand_off_benchmark {
 public:
  hand_off_benchmark(const server_address& at, const std::string& path, const measurement_period& t)
      : period_{t}, forward_stop_{t.stop(), [this] { stop_.request_stop(); }} {
    for (std::size_t i = 0; i < bench_clients; ++i) {
      auto& c = contenders_[i];
      c.zk = std::make_unique<client>(at.hosts, at.options);
      c.lock = std::make_unique<mutex>(*c.zk, path);
    }
  }

  bench_result run() {
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < bench_clients; ++i)
        threads.emplace_back([this, i] { contend(i); });
    }
    bench_result m;
    m.time = period_.counted(clock::now());
    for (auto& c : contenders_) {
      if (c.failed) throw *c.failed;
      m.each.insert(m.each.end(), c.each.begin(), c.each.end());
    }
    m.count = m.each.size();
    return m;
  }

 private:
  struct contender {
    std::unique_ptr<client> zk;
    std::unique_ptr<mutex> lock;
    std::vector<std::chrono::nanoseconds> each;
    std::optional<error> failed;
  };

  void contend(std::size_t i) {
    auto& own = contenders_[i];
    try {
      while (own.lock->lock(stop_.get_token())) {
        const auto now = clock::now();
        const clock::time_point released{clock::duration{released_}};
        // A client that acquires the lock again directly after its own release has made no
        // hand-off.
        if (last_holder_.exchange(i) != i && period_.counts(released)) {
          own.each.push_back(now - released);
          counted_any_ = true;
        }
        if (period_.is_over(now, counted_any_)) stop_.request_stop();
        released_ = clock::now().time_since_epoch().count();
        own.lock->unlock();
        if (stop_.stop_requested()) break;
      }
    } catch (const error& e) {
      own.failed = e;
      stop_.request_stop();
    }
  }

  const measurement_period& period_;
  std::stop_source stop_;
  std::stop_callback<std::function<void()>> forward_stop_;
  std::array<contender, bench_clients> contenders_;
  // Only the holder of the lock writes these. They are atomic because a distributed lock does not
  // order memory accesses for the compiler.
  std::atomic<std::size_t> last_holder_{bench_clients};
  std::atomic<clock::rep> released_{0};
  std::atomic<bool> counted_any_{false};
};

}  // namespace

bench_result bench_lock(client& zk, const std::string& folder, const measurement_period& t) {
  mutex m{zk, folder + "/lock"};
  return one_by_one(t, [&] {
    if (m.lock(t.stop())) m.unlock();
  });
}

bench_result bench_hand_off(const server_address& at, const std::string& folder,
                            const measurement_period& t) {
  return hand_off_benchmark{at, folder + "/hand-off", t}.run();
}

bench_result bench_creates(client& zk, const std::string& folder, const measurement_period& t) {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t pending = 0;
  error_code failed;
  bench_result m;
  const auto answered = [&](clock::time_point begin, error_code ec) {
    const std::lock_guard lock{mutex};
    if (ec && !failed) failed = ec;
    if (!ec && t.counts(begin)) ++m.count;
    --pending;
    // Refill when half of the window is free. This saves writes, and neither side runs out of work.
    if (pending == 0 || pending == bench_window / 2) changed.notify_one();
  };
  const auto prefix = folder + "/node-";
  std::size_t next = 0;
  std::unique_lock lock{mutex};
  while (!failed && !t.is_over(clock::now(), m.count > 0)) {
    const auto free_slots = bench_window - pending;
    pending += free_slots;
    lock.unlock();
    {
      const auto batch = zk.begin_batch();
      for (std::size_t i = 0; i < free_slots; ++i)
        zk.async_create(prefix + std::to_string(next++), payload, create_mode::ephemeral,
                        [&, begin = clock::now()](error_code ec, const create_result&) {
                          answered(begin, ec);
                        });
    }
    lock.lock();
    changed.wait(lock, [&] { return pending <= bench_window / 2; });
  }
  changed.wait(lock, [&] { return pending == 0; });
  m.time = t.counted(clock::now());
  if (failed) throw error{failed, "create " + prefix};
  return m;
}

bench_result bench_gets(client& zk, const std::string& folder, const measurement_period& t) {
  const auto path = folder + "/data";
  zk.create(path, payload, create_mode::ephemeral);
  return one_by_one(t, [&] { zk.get(path); });
}

bench_result bench_queue(client& zk, const std::string& folder, const measurement_period& t) {
  queue q{zk, folder + "/queue"};
  return one_by_one(t, [&] {
    q.push(payload);
    q.pop(t.stop());
  });
}

}  // namespace conclave::cli
