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

using clock = stretch::clock;

const std::string payload(100, 'x');

template <class F>
measured one_by_one(const stretch& t, F f) {
  measured m;
  auto now = clock::now();
  auto warm = now;
  while (!t.over(now, !m.each.empty())) {
    const auto begin = now;
    f();
    now = clock::now();
    if (t.counts(begin))
      m.each.push_back(now - begin);
    else
      warm = now;
  }
  m.count = m.each.size();
  m.time = now - warm;
  return m;
}

// Several clients that hand one lock to each other.
class ring {
 public:
  ring(const server_address& at, const std::string& path, const stretch& t)
      : stretch_{t}, passed_on_{t.stop(), [this] { enough_.request_stop(); }} {
    for (std::size_t i = 0; i < bench_clients; ++i) {
      auto& c = members_[i];
      c.zk = std::make_unique<client>(at.hosts, at.options);
      c.lock = std::make_unique<mutex>(*c.zk, path);
    }
  }

  measured run() {
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < bench_clients; ++i)
        threads.emplace_back([this, i] { take_part(i); });
    }
    measured m;
    m.time = stretch_.counted(clock::now());
    for (auto& c : members_) {
      if (c.failed) throw *c.failed;
      m.each.insert(m.each.end(), c.each.begin(), c.each.end());
    }
    m.count = m.each.size();
    return m;
  }

 private:
  struct member {
    std::unique_ptr<client> zk;
    std::unique_ptr<mutex> lock;
    std::vector<std::chrono::nanoseconds> each;
    std::optional<error> failed;
  };

  void take_part(std::size_t i) {
    auto& me = members_[i];
    try {
      while (me.lock->lock(enough_.get_token())) {
        const auto now = clock::now();
        const clock::time_point released{clock::duration{released_}};
        // A client that acquires the lock twice in a row has made no hand-off.
        if (last_holder_.exchange(i) != i && stretch_.counts(released)) {
          me.each.push_back(now - released);
          counted_any_ = true;
        }
        if (stretch_.over(now, counted_any_)) enough_.request_stop();
        released_ = clock::now().time_since_epoch().count();
        me.lock->unlock();
        if (enough_.stop_requested()) break;
      }
    } catch (const error& e) {
      me.failed = e;
      enough_.request_stop();
    }
  }

  const stretch& stretch_;
  std::stop_source enough_;
  std::stop_callback<std::function<void()>> passed_on_;
  std::array<member, bench_clients> members_;
  // Only the holder of the lock writes these. They are atomic because a distributed lock does not
  // order memory accesses for the compiler.
  std::atomic<std::size_t> last_holder_{bench_clients};
  std::atomic<clock::rep> released_{0};
  std::atomic<bool> counted_any_{false};
};

}  // namespace

measured bench_lock(client& zk, const std::string& folder, const stretch& t) {
  mutex m{zk, folder + "/lock"};
  return one_by_one(t, [&] {
    if (m.lock(t.stop())) m.unlock();
  });
}

measured bench_hand_off(const server_address& at, const std::string& folder, const stretch& t) {
  return ring{at, folder + "/hand-off", t}.run();
}

measured bench_creates(client& zk, const std::string& folder, const stretch& t) {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t under_way = 0;
  error_code failed;
  measured m;
  const auto answered = [&](clock::time_point begin, error_code ec) {
    const std::lock_guard lock{mutex};
    if (ec && !failed) failed = ec;
    if (!ec && t.counts(begin)) ++m.count;
    --under_way;
    // Refill when half of the window is free. This saves writes, and neither side runs out of work.
    if (under_way == 0 || under_way == bench_window / 2) changed.notify_one();
  };
  const auto before = folder + "/node-";
  std::size_t next = 0;
  std::unique_lock lock{mutex};
  while (!failed && !t.over(clock::now(), m.count > 0)) {
    const auto more = bench_window - under_way;
    under_way += more;
    lock.unlock();
    {
      const auto together = zk.begin_batch();
      for (std::size_t i = 0; i < more; ++i)
        zk.async_create(before + std::to_string(next++), payload, create_mode::ephemeral,
                        [&, begin = clock::now()](error_code ec, const create_result&) {
                          answered(begin, ec);
                        });
    }
    lock.lock();
    changed.wait(lock, [&] { return under_way <= bench_window / 2; });
  }
  changed.wait(lock, [&] { return under_way == 0; });
  m.time = t.counted(clock::now());
  if (failed) throw error{failed, "create " + before};
  return m;
}

measured bench_gets(client& zk, const std::string& folder, const stretch& t) {
  const auto path = folder + "/data";
  zk.create(path, payload, create_mode::ephemeral);
  return one_by_one(t, [&] { zk.get(path); });
}

measured bench_queue(client& zk, const std::string& folder, const stretch& t) {
  queue q{zk, folder + "/queue"};
  return one_by_one(t, [&] {
    q.push(payload);
    q.pop(t.stop());
  });
}

}  // namespace conclave::cli
