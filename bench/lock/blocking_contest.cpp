#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

#include <conclave/mutex.hpp>

#include "sessions.hpp"

namespace conclave::bench {
namespace {

class blocking_contest : public contest {
 public:
  explicit blocking_contest(const contest_plan& plan)
      : plan_(plan), sessions_(open_sessions(plan, {})), cycles_(plan.contenders) {
    for (std::size_t i = 0; i < plan.contenders; ++i)
      threads_.emplace_back([this, i] { contend(i); });
  }

  void go() override {
    open_ = true;
    open_.notify_all();
  }

  std::size_t count() const override { return count_; }

  std::vector<cycle> stop() override {
    stopped_ = true;
    go();
    threads_.clear();  // each passes through the lock once more
    std::vector<cycle> all;
    for (const auto& some : cycles_) all.insert(all.end(), some.begin(), some.end());
    return all;
  }

 private:
  void contend(std::size_t index) {
    mutex m(*sessions_[index % sessions_.size()], plan_.path);
    auto& mine = cycles_[index];
    mine.reserve(1u << 16);
    while (!stopped_) {
      cycle c{};
      c.contender = static_cast<std::int64_t>(plan_.first_number + index);
      c.lock_called = monotonic_ns();
      lock(m);
      c.acquired = monotonic_ns();
      open_.wait(false);
      c.unlock_called = monotonic_ns();
      m.unlock();
      c.released = monotonic_ns();
      mine.push_back(c);
      count_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  // A round with an error in it is no measurement.
  static void lock(mutex& m) {
    try {
      m.lock();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "lock: %s\n", e.what());
      std::_Exit(1);
    }
  }

  const contest_plan plan_;
  std::vector<std::unique_ptr<client>> sessions_;
  std::atomic<bool> open_{false};
  std::atomic<bool> stopped_{false};
  std::atomic<std::size_t> count_{0};
  std::vector<std::vector<cycle>> cycles_;
  std::vector<std::jthread> threads_;
};

}  // namespace

std::unique_ptr<contest> begin_blocking_contest(const contest_plan& plan) {
  return std::make_unique<blocking_contest>(plan);
}

}  // namespace conclave::bench
