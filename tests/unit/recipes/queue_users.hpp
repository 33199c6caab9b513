// A consumer and a producer of a queue at /queue in the simulated world.
#pragma once

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recipes/queue/consumer.hpp"
#include "recipes/queue/producer.hpp"
#include "simulation/world/world.hpp"

namespace conclave::simulated {

inline std::shared_ptr<const recipes::queue_names> names_of_queue(
    queue_layout l = queue_layout::zookeeper) {
  return std::make_shared<const recipes::queue_names>("/queue", l);
}

inline error_code cancelled() { return {ECANCELED, boost::system::system_category()}; }

class test_consumer {
 public:
  using consumer = recipes::consumer;
  using scope = recipes::session_context::scope;

  explicit test_consumer(client& c, consumer::options t = {},
                         queue_layout l = queue_layout::zookeeper)
      : client_{c},
        consumer_{std::make_shared<consumer>(c.shared_from_this(), names_of_queue(l), t)} {}
  ~test_consumer() {
    const scope inside{client_};
    consumer_->close(cancelled());
  }
  test_consumer(const test_consumer&) = delete;
  test_consumer& operator=(const test_consumer&) = delete;

  static consumer::options claiming(int max_attempts = 0) {
    return {consumer::mode::claim, max_attempts, "owner"};
  }

  consumer::caller_ptr acquire(bool waits = true) {
    const auto who = std::make_shared<consumer::caller>();
    who->waits = waits;
    who->complete = [this](error_code e, std::optional<consumer::acquired_item> what) {
      ++completions;
      ec = e;
      acquired = std::move(what);
    };
    const scope inside{client_};
    consumer_->acquire(who);
    return who;
  }
  void give_up(const consumer::caller_ptr& who) {
    const scope inside{client_};
    consumer_->give_up(who, cancelled());
  }
  // Completes the claim that was acquired last. The result is none until the claim is completed.
  std::shared_ptr<std::optional<error_code>> complete() {
    auto result = std::make_shared<std::optional<error_code>>();
    const scope inside{client_};
    acquired->claim->complete([result](error_code e) { *result = e; });
    return result;
  }
  void release() {
    const scope inside{client_};
    acquired->claim->release();
  }

  int completions = 0;  // of calls; the last one had this result:
  error_code ec;
  std::optional<consumer::acquired_item> acquired;

 private:
  client& client_;
  std::shared_ptr<consumer> consumer_;
};

class test_producer {
 public:
  using producer = recipes::producer;
  using scope = recipes::session_context::scope;
  // None until the push is completed.
  using push_result = std::shared_ptr<std::optional<error_code>>;

  explicit test_producer(client& c, std::size_t capacity = 0)
      : client_{c},
        producer_{std::make_shared<producer>(c.shared_from_this(), names_of_queue(), capacity,
                                             std::size_t{1} << 20)} {}
  ~test_producer() {
    const scope inside{client_};
    producer_->close(cancelled());
  }
  test_producer(const test_producer&) = delete;
  test_producer& operator=(const test_producer&) = delete;

  push_result push(std::string item, bool waits = true) {
    auto result = std::make_shared<std::optional<error_code>>();
    const auto what = std::make_shared<producer::push_request>();
    what->items.push_back(std::move(item));
    what->priority = default_priority;
    what->waits = waits;
    what->complete = [result](error_code e) { *result = e; };
    const scope inside{client_};
    producer_->push(what);
    last_ = what;
    return result;
  }
  void give_up_last() {
    const scope inside{client_};
    producer_->give_up(last_, cancelled());
  }

 private:
  client& client_;
  std::shared_ptr<producer> producer_;
  producer::request_ptr last_;
};

}  // namespace conclave::simulated
