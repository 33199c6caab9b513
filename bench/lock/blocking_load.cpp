#include <atomic>
#include <exception>
#include <thread>

#include <conclave/mutex.hpp>

#include "driver/zookeeper.hpp"
#include "history.hpp"
#include "lock_load.hpp"

namespace conclave::bench {
namespace {

class blocking_load final : public recipe_load {
 public:
  explicit blocking_load(const load_plan& plan)
      : plan_(plan),
        sessions_(open_sessions(plan.sessions, plan.servers, {}, options_for_many_waiters())),
        cycles_(plan.contenders) {
    for (std::size_t i = 0; i < plan.contenders; ++i)
      threads_.emplace_back([this, i] { contend(i); });
  }

  void start() override {
    started_ = true;
    started_.notify_all();
  }

  std::int64_t count() const override { return count_; }

  std::string stop(const std::string& file) override {
    stopped_ = true;
    start();
    threads_.clear();  // each thread acquires the lock once more
    std::vector<lock_cycle> all;
    for (const auto& some : cycles_) all.insert(all.end(), some.begin(), some.end());
    write_cycles(file, all);
    return {};
  }

 private:
  void contend(std::size_t index) {
    lock_options options;
    if (plan_.mode == mode::keeping) options.keep_for = std::chrono::seconds{1};
    mutex m(*sessions_[index % sessions_.size()], plan_.path, options);
    auto& mine = cycles_[index];
    mine.reserve(1u << 16);
    while (!stopped_) {
      lock_cycle c{};
      c.contender = static_cast<std::int64_t>(plan_.first_contender + index);
      c.lock_called = monotonic_ns();
      lock(m);
      c.acquired = monotonic_ns();
      started_.wait(false);
      c.unlock_called = monotonic_ns();
      m.unlock();
      c.released = monotonic_ns();
      mine.push_back(c);
      count_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  static void lock(mutex& m) {
    try {
      m.lock();
    } catch (const std::exception& e) {
      abort_round("lock", e.what());
    }
  }

  const load_plan plan_;
  std::vector<std::unique_ptr<client>> sessions_;
  std::atomic<bool> started_{false};
  std::atomic<bool> stopped_{false};
  std::atomic<std::int64_t> count_{0};
  std::vector<std::vector<lock_cycle>> cycles_;
  std::vector<std::jthread> threads_;
};

}  // namespace

std::unique_ptr<recipe_load> make_blocking_load(const load_plan& plan) {
  return std::make_unique<blocking_load>(plan);
}

std::unique_ptr<recipe_load> make_lock_load(std::istream& arguments) {
  load_plan plan;
  arguments >> plan.mode >> plan.servers >> plan.path >> plan.sessions >> plan.contenders >>
      plan.first_contender;
  const bool blocks = plan.mode == mode::blocking || plan.mode == mode::keeping;
  return blocks ? make_blocking_load(plan) : make_asynchronous_load(plan);
}

}  // namespace conclave::bench
