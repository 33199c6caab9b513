#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

#include "sessions.hpp"
#include "tally.hpp"

namespace conclave::bench {
namespace {

class blocking_flow : public flow {
 public:
  explicit blocking_flow(const flow_plan& plan)
      : plan_(plan), sessions_(open_sessions(plan.producers + plan.consumers, plan, {})) {
    for (std::size_t i = 0; i < sessions_.size(); ++i)
      threads_.emplace_back([this, i](const std::stop_token& stop) { work(i, stop); });
  }

  ~blocking_flow() override { end(); }

  void go() override {
    open_ = true;
    open_.notify_all();
  }

  std::int64_t consumed() const override { return tally_.count(); }

  flow_result stop() override {
    end();
    return tally_.result();
  }

 private:
  void end() {
    for (auto& t : threads_) t.request_stop();
    go();
    threads_.clear();
  }

  void work(std::size_t index, const std::stop_token& stop) {
    open_.wait(false);
    try {
      tally_.begin();
      auto& q = sessions_[index]->items;
      if (index < plan_.producers)
        produce(q, static_cast<std::int64_t>(index), stop);
      else if (session::claims(plan_))
        claim(q, stop);
      else
        pop(q, stop);
    } catch (const std::exception& e) {  // a round with an error in it is no measurement
      std::fprintf(stderr, "queue: %s\n", e.what());
      std::_Exit(1);
    }
  }

  void produce(queue& q, std::int64_t producer, const std::stop_token& stop) const {
    const auto first = plan_.first + producer * plan_.items;
    for (std::int64_t i = 0; i < plan_.items && !stop.stop_requested(); ++i)
      q.push(item_text(first + i, plan_.bytes));
  }

  void pop(queue& q, const std::stop_token& stop) {
    while (const auto item = q.pop(stop)) tally_.consumed(item->data);
  }

  void claim(queue& q, const std::stop_token& stop) {
    while (auto job = q.claim(stop)) {
      job->complete();
      tally_.consumed(job->data());
    }
  }

  const flow_plan plan_;
  sessions sessions_;
  std::atomic<bool> open_{false};
  tally tally_;
  std::vector<std::jthread> threads_;
};

}  // namespace

std::unique_ptr<flow> begin_blocking_flow(const flow_plan& plan) {
  return std::make_unique<blocking_flow>(plan);
}

}  // namespace conclave::bench
