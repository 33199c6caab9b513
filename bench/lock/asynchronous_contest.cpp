#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "crowd_lock.hpp"
#include "sessions.hpp"

namespace conclave::bench {
namespace {

// After the constructor everything but stop() happens on the context's thread.
class asynchronous_contest : public contest {
 public:
  explicit asynchronous_contest(const contest_plan& plan)
      : sessions_(open_sessions(plan, context())), lets_others_first_(plan.mode == mode::named) {
    if (plan.mode == mode::naive) make_parent(*sessions_.front(), plan.path);
    cycles_.reserve(1u << 18);
    contenders_.resize(plan.contenders);
    for (std::size_t i = 0; i < plan.contenders; ++i) {
      contenders_[i].now.contender = static_cast<std::int64_t>(plan.first_number + i);
      contenders_[i].lock = make_crowd_lock(*sessions_[i % sessions_.size()], plan);
    }
    for (auto& one : contenders_) ask(one);
  }

  void go() override {
    // Where the handlers run, so that nothing here needs a mutex.
    sessions_.front()->async_exists("/", [this](error_code, const auto&) {
      open_ = true;
      if (auto* holder = std::exchange(keeping_, nullptr)) give_up(*holder);
    });
  }

  std::size_t count() const override { return count_; }

  std::vector<cycle> stop() override {
    stopped_ = true;
    // All at once: contenders of a session that is still open would take over from those of closed
    // ones, and read the whole line for it.
    for (auto& zk : sessions_) zk->async_close([](error_code) {});
    for (auto& zk : sessions_) zk->close();  // afterwards no handler runs any more
    return std::move(cycles_);
  }

 private:
  struct contender {
    std::unique_ptr<crowd_lock> lock;
    cycle now{};
  };

  static void make_parent(client& zk, const std::string& path) {
    try {
      zk.create(path);
    } catch (const error& e) {
      if (e.code() != errc::node_exists) throw;
    }
  }

  void ask(contender& one) {
    one.now.lock_called = monotonic_ns();
    one.lock->lock([this, &one](error_code ec) {
      if (!stopped_) granted(one, ec);
    });
  }

  void granted(contender& one, error_code ec) {
    if (ec) {  // a round with an error in it is no measurement
      std::fprintf(stderr, "async_lock: %s\n", ec.message().c_str());
      std::_Exit(1);
    }
    one.now.acquired = monotonic_ns();
    if (auto* waits = std::exchange(let_others_first_, nullptr)) ask(*waits);
    if (open_)
      give_up(one);
    else
      keeping_ = &one;
  }

  void give_up(contender& one) {
    one.now.unlock_called = monotonic_ns();
    one.lock->unlock();
    one.now.released = monotonic_ns();
    cycles_.push_back(one.now);
    count_ = cycles_.size();
    // Without a line, who asks at once is always the first, and nobody else would ever have it.
    if (lets_others_first_)
      let_others_first_ = &one;
    else
      ask(one);
  }

  std::vector<std::unique_ptr<client>> sessions_;
  const bool lets_others_first_;
  bool open_{false};
  contender* keeping_{nullptr};
  contender* let_others_first_{nullptr};
  std::vector<cycle> cycles_;
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> stopped_{false};
  std::vector<contender> contenders_;
};

}  // namespace

std::unique_ptr<contest> begin_asynchronous_contest(const contest_plan& plan) {
  return std::make_unique<asynchronous_contest>(plan);
}

}  // namespace conclave::bench
