// Users of a queue at /queue in the simulated world: one takes, one pushes.
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

class taker {
 public:
  using consumer = recipes::consumer;
  using scope = recipes::session_context::scope;

  explicit taker(client& c, consumer::options t = {}, queue_layout l = queue_layout::zookeeper)
      : client_{c},
        consumer_{std::make_shared<consumer>(c.shared_from_this(), names_of_queue(l), t)} {}
  ~taker() {
    const scope inside{client_};
    consumer_->close(cancelled());
  }
  taker(const taker&) = delete;
  taker& operator=(const taker&) = delete;

  static consumer::options claiming(int max_attempts = 0) {
    return {consumer::mode::claim, max_attempts, "somebody"};
  }

  consumer::caller_ptr take(bool waits = true) {
    const auto who = std::make_shared<consumer::caller>();
    who->waits = waits;
    who->complete = [this](error_code e, std::optional<consumer::acquired_item> what) {
      ++told;
      ec = e;
      got = std::move(what);
    };
    const scope inside{client_};
    consumer_->acquire(who);
    return who;
  }
  void give_up(const consumer::caller_ptr& who) {
    const scope inside{client_};
    consumer_->give_up(who, cancelled());
  }
  // What was claimed last; the answer comes later.
  std::shared_ptr<std::optional<error_code>> complete() {
    auto answer = std::make_shared<std::optional<error_code>>();
    const scope inside{client_};
    got->claim->complete([answer](error_code e) { *answer = e; });
    return answer;
  }
  void give_back() {
    const scope inside{client_};
    got->claim->give_back();
  }

  int told = 0;  // how often, and of the last time:
  error_code ec;
  std::optional<consumer::acquired_item> got;

 private:
  client& client_;
  std::shared_ptr<consumer> consumer_;
};

class pusher {
 public:
  using producer = recipes::producer;
  using scope = recipes::session_context::scope;
  // None as long as nothing was told.
  using answer = std::shared_ptr<std::optional<error_code>>;

  explicit pusher(client& c, std::size_t capacity = 0)
      : client_{c},
        producer_{std::make_shared<producer>(c.shared_from_this(), names_of_queue(), capacity,
                                             std::size_t{1} << 20)} {}
  ~pusher() {
    const scope inside{client_};
    producer_->close(cancelled());
  }
  pusher(const pusher&) = delete;
  pusher& operator=(const pusher&) = delete;

  answer push(std::string item, bool waits = true) {
    auto told = std::make_shared<std::optional<error_code>>();
    const auto what = std::make_shared<producer::push_request>();
    what->items.push_back(std::move(item));
    what->priority = default_priority;
    what->waits = waits;
    what->complete = [told](error_code e) { *told = e; };
    const scope inside{client_};
    producer_->push(what);
    return told;
  }

 private:
  client& client_;
  std::shared_ptr<producer> producer_;
};

}  // namespace conclave::simulated
