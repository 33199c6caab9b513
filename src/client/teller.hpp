// Calls a user's functions one after another, in the order in which they were left here and never
// two at a time, on whichever thread comes; and none any more once it is closed.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace conclave::detail {

class teller {
 public:
  // Anywhere, even where nothing may be called.
  void leave(std::function<void()> f) {
    const std::lock_guard lock{mutex_};
    if (!closed_) left_.push_back(std::move(f));
  }

  // Calls what was left, unless somebody does so already, who then goes on with it.
  void tell() {
    std::unique_lock lock{mutex_};
    if (telling_ != std::thread::id{}) return;
    telling_ = std::this_thread::get_id();
    while (!left_.empty()) {
      const auto f = std::move(left_.front());
      left_.pop_front();
      lock.unlock();
      f();
      lock.lock();
    }
    telling_ = {};
    quiet_.notify_all();
  }

  // When this has returned nothing is called any more, except the function that calls this.
  void close() {
    std::unique_lock lock{mutex_};
    closed_ = true;
    left_.clear();
    quiet_.wait(lock, [&] {
      return telling_ == std::thread::id{} || telling_ == std::this_thread::get_id();
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable quiet_;
  std::deque<std::function<void()>> left_;
  std::thread::id telling_;
  bool closed_ = false;
};

}  // namespace conclave::detail
