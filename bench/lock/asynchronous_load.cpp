#include <atomic>
#include <utility>

#include "asynchronous_locks.hpp"
#include "driver/zookeeper.hpp"
#include "history.hpp"
#include "lock_load.hpp"

namespace conclave::bench {
namespace {

// All functions except the constructor and stop() run on the context's thread.
class asynchronous_load final : public recipe_load {
 public:
  explicit asynchronous_load(const load_plan& plan)
      : sessions_(
            open_sessions(plan.sessions, plan.servers, context(), options_for_many_waiters())),
        yields_after_release_(plan.mode == mode::named) {
    if (plan.mode == mode::naive) create_parent(*sessions_.front(), plan.path);
    cycles_.reserve(1u << 18);
    contenders_.resize(plan.contenders);
    for (std::size_t i = 0; i < plan.contenders; ++i) {
      contenders_[i].now.contender = static_cast<std::int64_t>(plan.first_contender + i);
      contenders_[i].lock =
          make_asynchronous_lock(*sessions_[i % sessions_.size()], plan.mode, plan.path);
    }
    for (auto& one : contenders_) acquire(one);
  }

  void start() override {
    run_on_context(*sessions_.front(), [this] {
      started_ = true;
      if (auto* one = std::exchange(holder_before_start_, nullptr)) release(*one);
    });
  }

  std::int64_t count() const override { return count_; }

  std::string stop(const std::string& file) override {
    stopped_ = true;
    // Closes all sessions at the same time. Otherwise contenders of open sessions would acquire the
    // lock after those of closed sessions, and would list the whole wait queue.
    for (auto& zk : sessions_) zk->async_close([](error_code) {});
    for (auto& zk : sessions_) zk->close();  // after that, no handler runs
    write_cycles(file, cycles_);
    return {};
  }

 private:
  struct contender {
    std::unique_ptr<asynchronous_lock> lock;
    lock_cycle now{};
  };

  static void create_parent(client& zk, const std::string& path) {
    try {
      zk.create(path);
    } catch (const error& e) {
      if (e.code() != errc::node_exists) throw;
    }
  }

  void acquire(contender& one) {
    one.now.lock_called = monotonic_ns();
    one.lock->lock([this, &one](error_code ec) {
      if (!stopped_) granted(one, ec);
    });
  }

  void granted(contender& one, error_code ec) {
    if (ec) abort_round("async_lock", ec.message().c_str());
    one.now.acquired = monotonic_ns();
    if (auto* previous = std::exchange(acquires_after_next_grant_, nullptr)) acquire(*previous);
    if (started_)
      release(one);
    else
      holder_before_start_ = &one;
  }

  void release(contender& one) {
    one.now.unlock_called = monotonic_ns();
    one.lock->unlock();
    one.now.released = monotonic_ns();
    cycles_.push_back(one.now);
    count_ = static_cast<std::int64_t>(cycles_.size());
    // Without a wait queue, a contender that acquires again immediately would always be granted the
    // lock.
    if (yields_after_release_)
      acquires_after_next_grant_ = &one;
    else
      acquire(one);
  }

  std::vector<std::unique_ptr<client>> sessions_;
  const bool yields_after_release_;
  bool started_{false};
  contender* holder_before_start_{nullptr};
  contender* acquires_after_next_grant_{nullptr};
  std::vector<lock_cycle> cycles_;
  std::atomic<std::int64_t> count_{0};
  std::atomic<bool> stopped_{false};
  std::vector<contender> contenders_;
};

}  // namespace

std::unique_ptr<recipe_load> make_asynchronous_load(const load_plan& plan) {
  return std::make_unique<asynchronous_load>(plan);
}

}  // namespace conclave::bench
