// Helpers for integration tests: a shared server, a new path for each test, and functions that wait
// for other threads without sleeping.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "conclave/client.hpp"
#include "support/zookeeper_server.hpp"

namespace conclave::testing {

using namespace std::chrono_literals;

// The time limit for something that must happen. A passing test does not reach it.
inline constexpr auto wait_limit = 30s;

// One server for the whole executable, started by the first call.
zookeeper_server& shared_server();

// Creates a new node "/NAME-K" for one test.
std::string fresh_node(client& zk, const std::string& name);

// Default options with this session timeout.
client_options with_timeout(std::chrono::milliseconds t);
// A session timeout of 30 s and attempts to reconnect every 5 ms.
client_options reconnecting_at_once();

// A thread-safe queue of values from callbacks.
template <class T>
class inbox {
 public:
  void put(T value) {
    // Notifies under the lock, because the receiver may destroy this object at once.
    const std::lock_guard lock{mutex_};
    values_.push_back(std::move(value));
    arrived_.notify_all();
  }

  // Returns the next value, or nothing on a timeout.
  std::optional<T> take(std::chrono::nanoseconds limit = wait_limit) {
    std::unique_lock lock{mutex_};
    if (!arrived_.wait_for(lock, limit, [&] { return !values_.empty(); })) return std::nullopt;
    auto value = std::move(values_.front());
    values_.pop_front();
    return value;
  }

  std::size_t size() const {
    const std::lock_guard lock{mutex_};
    return values_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<T> values_;
};

// A watcher that puts its events into an inbox. Both share the inbox.
class watch_recorder {
 public:
  watcher get() const { return watcher_; }
  std::optional<watch_event> take(std::chrono::nanoseconds limit = wait_limit) {
    return events_->take(limit);
  }
  std::size_t size() const { return events_->size(); }

 private:
  std::shared_ptr<inbox<watch_event>> events_ = std::make_shared<inbox<watch_event>>();
  watcher watcher_{[events = events_](const watch_event& e) { events->put(e); }};
};

// The session events of one client.
class session_recorder {
 public:
  explicit session_recorder(client& zk)
      : subscription_{zk.on_session_event([this](const session_event& e) { events_.put(e); })} {}

  // Takes events until one of this kind arrives.
  std::optional<session_event> wait_for(session_event::kind k,
                                        std::chrono::nanoseconds limit = wait_limit);
  std::optional<session_event> next(std::chrono::nanoseconds limit = wait_limit) {
    return events_.take(limit);
  }

 private:
  inbox<session_event> events_;
  subscription subscription_;
};

// Returns the error code of a call, or none if it succeeds.
template <class F>
error_code code_of(F call) {
  try {
    call();
  } catch (const error& e) {
    return e.code();
  }
  return {};
}

}  // namespace conclave::testing
