#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "sessions.hpp"
#include "tally.hpp"

namespace conclave::bench {
namespace {

// After go() everything but stop() happens on the context's thread.
class asynchronous_flow : public flow {
 public:
  explicit asynchronous_flow(const flow_plan& plan)
      : plan_(plan),
        sessions_(open_sessions(plan.producers + plan.consumers, plan, context())),
        pushed_(plan.producers, 0) {}

  ~asynchronous_flow() override { end(); }

  void go() override {
    // Where the handlers run, so that nothing here needs a mutex.
    sessions_.front()->zk->async_exists("/", [this](error_code, const auto&) {
      tally_.begin();
      for (std::size_t i = 0; i < sessions_.size(); ++i)
        for (std::size_t calls = 0; calls < window; ++calls) next(i);
    });
  }

  std::int64_t consumed() const override { return tally_.count(); }

  flow_result stop() override {
    end();
    return tally_.result();
  }

 private:
  void end() {
    stopped_ = true;
    for (auto& one : sessions_) one->zk->close();  // afterwards no handler runs any more
  }

  void next(std::size_t index) {
    if (index < plan_.producers)
      push(index);
    else if (session::claims(plan_))
      claim(index);
    else
      pop(index);
  }

  // A round with an error in it is no measurement.
  bool may_go_on(error_code ec) const {
    if (stopped_) return false;
    if (!ec) return true;
    std::fprintf(stderr, "queue: %s\n", ec.message().c_str());
    std::_Exit(1);
  }

  void push(std::size_t index) {
    auto& mine = pushed_[index];
    if (mine == plan_.items) return;
    const auto number = plan_.first + static_cast<std::int64_t>(index) * plan_.items + mine++;
    sessions_[index]->items.async_push({item_text(number, plan_.bytes)}, default_priority,
                                       [this, index](error_code ec, bool) {
                                         if (may_go_on(ec)) push(index);
                                       });
  }

  void pop(std::size_t index) {
    sessions_[index]->items.async_pop(
        [this, index](error_code ec, const std::optional<queue_item>& item) {
          if (!may_go_on(ec)) return;
          tally_.consumed(item->data);
          pop(index);
        });
  }

  void claim(std::size_t index) {
    sessions_[index]->items.async_claim(
        [this, index](error_code ec, std::optional<queue_claim> claimed) {
          if (!may_go_on(ec)) return;
          const auto job = std::make_shared<queue_claim>(std::move(*claimed));
          job->async_complete([this, index, job](error_code failed) {
            if (!may_go_on(failed)) return;
            tally_.consumed(job->data());
            claim(index);
          });
        });
  }

  const flow_plan plan_;
  sessions sessions_;
  std::vector<std::int64_t> pushed_;  // by each producer
  tally tally_;
  std::atomic<bool> stopped_{false};
};

}  // namespace

std::unique_ptr<flow> begin_asynchronous_flow(const flow_plan& plan) {
  return std::make_unique<asynchronous_flow>(plan);
}

}  // namespace conclave::bench
