// What the integration tests share: a server to talk to, paths of their own, and ways to wait for
// what happens on other threads without sleeping.
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

// How long a test waits for something that must happen: long, since it costs nothing when it does.
inline constexpr auto patience = 30s;

// One server for the whole executable, started by the first test that asks.
zookeeper_server& shared_server();

// "/NAME-K", created anew, for one test.
std::string fresh_node(client& zk, const std::string& name);

// Options with a session timeout, and nothing else.
client_options with_timeout(std::chrono::milliseconds t);

// Things that callbacks bring, in their order.
template <class T>
class inbox {
 public:
  void put(T value) {
    // Notified under the lock: who takes the value may destroy this object at once.
    const std::lock_guard lock{mutex_};
    values_.push_back(std::move(value));
    arrived_.notify_all();
  }

  // The next one; nothing if none came in time.
  std::optional<T> take(std::chrono::nanoseconds limit = patience) {
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

// A watcher that puts its events into an inbox, which lives as long as either needs it.
class watch_recorder {
 public:
  watcher get() const { return watcher_; }
  std::optional<watch_event> take(std::chrono::nanoseconds limit = patience) {
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

  // Takes events until one of this kind came.
  std::optional<session_event> wait_for(session_event::kind k,
                                        std::chrono::nanoseconds limit = patience);
  std::optional<session_event> next(std::chrono::nanoseconds limit = patience) {
    return events_.take(limit);
  }

 private:
  inbox<session_event> events_;
  subscription subscription_;
};

// The code with which a call fails; none if it does not.
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
