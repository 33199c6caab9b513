// Calls the user's functions in the order in which they were pushed, one at a time, on the thread
// that calls run(). Calls no function after close().
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

namespace conclave::recipes {

class callback_queue {
 public:
  // Only adds the function to the queue and does not call it, so the caller may have locked a
  // mutex.
  void push(std::function<void()> f) {
    const std::lock_guard lock{mutex_};
    if (!closed_) callbacks_.push_back(std::move(f));
  }

  // Calls all functions in the queue. If another thread is inside run(), that thread calls them.
  void run() {
    std::unique_lock lock{mutex_};
    if (running_ != std::thread::id{}) return;
    running_ = std::this_thread::get_id();
    while (!callbacks_.empty()) {
      const auto f = std::move(callbacks_.front());
      callbacks_.pop_front();
      lock.unlock();
      f();
      lock.lock();
    }
    running_ = {};
    idle_.notify_all();
  }

  // After close() has returned, no function is running, except the one that calls close(), if any.
  void close() {
    std::unique_lock lock{mutex_};
    closed_ = true;
    callbacks_.clear();
    idle_.wait(lock, [&] {
      return running_ == std::thread::id{} || running_ == std::this_thread::get_id();
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable idle_;
  std::list<std::function<void()>> callbacks_;  // an empty std::deque needs 600 bytes
  std::thread::id running_;
  bool closed_ = false;
};

}  // namespace conclave::recipes
