#include <atomic>
#include <optional>
#include <utility>

#include "driver/zookeeper.hpp"
#include "queue_load.hpp"

namespace conclave::bench {
namespace {

// After start(), all functions except stop() run on the context's thread.
class asynchronous_load final : public recipe_load {
 public:
  explicit asynchronous_load(const load_plan& plan)
      : plan_(plan), sessions_(open_queue_sessions(plan, context())), pushed_(plan.producers, 0) {}

  ~asynchronous_load() override { end(); }

  void start() override {
    run_on_context(*sessions_.front()->zk, [this] {
      consumed_.begin();
      for (std::size_t i = 0; i < sessions_.size(); ++i)
        for (std::size_t calls = 0; calls < calls_in_flight; ++calls) call_next(i);
    });
  }

  std::int64_t count() const override { return consumed_.count(); }

  std::string stop(const std::string&) override {
    end();
    return to_text(consumed_.total());
  }

 private:
  void end() {
    stopped_ = true;
    for (auto& one : sessions_) one->zk->close();  // after that, no handler runs
  }

  void call_next(std::size_t index) {
    if (index < plan_.producers)
      push(index);
    else if (plan_.claims())
      claim(index);
    else
      pop(index);
  }

  bool continues(error_code ec) const {
    if (stopped_) return false;
    if (ec) abort_round("queue", ec.message().c_str());
    return true;
  }

  void push(std::size_t index) {
    auto& mine = pushed_[index];
    if (mine == plan_.items) return;
    const auto number = plan_.first_item + static_cast<std::int64_t>(index) * plan_.items + mine++;
    sessions_[index]->items.async_push({item_text(number, plan_.bytes)}, default_priority,
                                       [this, index](error_code ec, bool) {
                                         if (continues(ec)) push(index);
                                       });
  }

  void pop(std::size_t index) {
    sessions_[index]->items.async_pop(
        [this, index](error_code ec, const std::optional<queue_item>& item) {
          if (!continues(ec)) return;
          consumed_.add(item->data);
          pop(index);
        });
  }

  void claim(std::size_t index) {
    sessions_[index]->items.async_claim(
        [this, index](error_code ec, std::optional<queue_claim> claimed) {
          if (!continues(ec)) return;
          const auto job = std::make_shared<queue_claim>(std::move(*claimed));
          job->async_complete([this, index, job](error_code failed) {
            if (!continues(failed)) return;
            consumed_.add(job->data());
            claim(index);
          });
        });
  }

  const load_plan plan_;
  std::vector<std::unique_ptr<queue_session>> sessions_;
  std::vector<std::int64_t> pushed_;  // by each producer
  consumption_counter consumed_;
  std::atomic<bool> stopped_{false};
};

}  // namespace

std::unique_ptr<recipe_load> make_asynchronous_load(const load_plan& plan) {
  return std::make_unique<asynchronous_load>(plan);
}

}  // namespace conclave::bench
