#include <atomic>
#include <exception>
#include <optional>
#include <stop_token>
#include <thread>

#include "queue_load.hpp"

namespace conclave::bench {
namespace {

class blocking_load final : public recipe_load {
 public:
  explicit blocking_load(const load_plan& plan)
      : plan_(plan), sessions_(open_queue_sessions(plan, std::nullopt)) {
    for (std::size_t i = 0; i < sessions_.size(); ++i)
      threads_.emplace_back([this, i](const std::stop_token& stop) { work(i, stop); });
  }

  ~blocking_load() override { end(); }

  void start() override {
    started_ = true;
    started_.notify_all();
  }

  std::int64_t count() const override { return consumed_.count(); }

  std::string stop(const std::string&) override {
    end();
    return to_text(consumed_.total());
  }

 private:
  void end() {
    for (auto& t : threads_) t.request_stop();
    started_ = true;
    started_.notify_all();
    threads_.clear();
  }

  void work(std::size_t index, const std::stop_token& stop) {
    started_.wait(false);
    try {
      consumed_.begin();
      auto& q = sessions_[index]->items;
      if (index < plan_.producers)
        produce(q, static_cast<std::int64_t>(index), stop);
      else if (plan_.claims())
        claim(q, stop);
      else
        pop(q, stop);
    } catch (const std::exception& e) {
      abort_round("queue", e.what());
    }
  }

  void produce(queue& q, std::int64_t producer, const std::stop_token& stop) const {
    const auto first = plan_.first_item + producer * plan_.items;
    for (std::int64_t i = 0; i < plan_.items && !stop.stop_requested(); ++i)
      q.push(item_text(first + i, plan_.bytes));
  }

  void pop(queue& q, const std::stop_token& stop) {
    while (const auto item = q.pop(stop)) consumed_.add(item->data);
  }

  void claim(queue& q, const std::stop_token& stop) {
    while (auto job = q.claim(stop)) {
      job->complete();
      consumed_.add(job->data());
    }
  }

  const load_plan plan_;
  std::vector<std::unique_ptr<queue_session>> sessions_;
  std::atomic<bool> started_{false};
  consumption_counter consumed_;
  std::vector<std::jthread> threads_;
};

}  // namespace

std::unique_ptr<recipe_load> make_blocking_load(const load_plan& plan) {
  return std::make_unique<blocking_load>(plan);
}

}  // namespace conclave::bench
