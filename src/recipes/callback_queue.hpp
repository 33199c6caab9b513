// Calls the user's functions in the order in which they were pushed, one at a time, on a thread
// that calls run() or close(). Calls no function after close() has returned.
//
// If functions are pushed inside a session_context::scope and run() is posted, the functions run in
// the order of the events in the scopes.
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
  // mutex. No effect after close().
  void push(std::function<void()> f) {
    const std::lock_guard lock{mutex_};
    if (!closed_) callbacks_.push_back(std::move(f));
  }

  // Calls all functions in the queue. If another thread is inside run(), that thread calls them.
  void run() {
    std::unique_lock lock{mutex_};
    if (running_ == std::thread::id{}) call_all(lock);
  }

  // Waits until no other thread is inside run(), and then calls the rest of the functions or
  // discards them. After close() has returned, no function is running, except the one that calls
  // close(), if any. In that case, the rest is called inside that function.
  enum class rest { call, discard };
  void close(rest what = rest::call) {
    std::unique_lock lock{mutex_};
    closed_ = true;
    if (what == rest::discard) callbacks_.clear();
    idle_.wait(lock, [&] {
      return running_ == std::thread::id{} || running_ == std::this_thread::get_id();
    });
    call_all(lock);
  }

 private:
  void call_all(std::unique_lock<std::mutex>& lock) {
    const auto outer = std::exchange(running_, std::this_thread::get_id());
    while (!callbacks_.empty()) {
      auto f = std::move(callbacks_.front());
      callbacks_.pop_front();
      lock.unlock();
      f();
      f = {};  // it may own the user's objects, so they are destroyed without the mutex
      lock.lock();
    }
    running_ = outer;
    idle_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable idle_;
  std::list<std::function<void()>> callbacks_;  // an empty std::deque needs 600 bytes
  std::thread::id running_;
  bool closed_ = false;
};

}  // namespace conclave::recipes
