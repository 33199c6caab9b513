// Lets the threads of one lock object acquire and release a kept lock without the session's mutex.
//
// A lock is kept if its node stays on the server after unlock() (lock_options::keep_for). The lock
// object opens its local_lock while the lock is kept and idle. Threads then acquire the lock with
// one compare-and-swap. When the lock object needs the lock itself, it closes the local_lock. The
// result of close() shows whether a thread holds the lock at that moment.
//
//   closed ──open()──> idle <──acquire(), release()──> in_use or contended
//      ^                 │                                     │
//      └─────close()─────┴─────────────────────────────────────┘
//
// Memory order: acquire() has acquire semantics and release() has release semantics, so a thread
// sees everything that the previous holder did. open() and close() are ordered by the mutex of the
// session_context::scope. open() also has release semantics and close() also has acquire semantics,
// for threads that acquire or release without that mutex. The time in idle_since() is written
// before the release, so close() makes it visible.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace conclave::recipes {

class local_lock {
 public:
  enum class state : std::uint32_t {
    closed,     // only the lock object can grant the lock
    idle,       // kept, and no caller holds it
    in_use,     // a thread holds it
    contended,  // a thread holds it, and others may sleep until it is released
  };

  // --- called by any thread, without the mutex

  // Returns true if the calling thread has acquired the lock.
  bool try_acquire() noexcept {
    auto seen = state::idle;
    return change(seen, state::in_use, std::memory_order_acquire);
  }
  // Waits while other threads hold the lock. Returns false if the local_lock is closed.
  bool acquire() noexcept {
    for (int i = 0; i < spins; ++i) {
      auto seen = state_.load(std::memory_order_relaxed);
      if (seen == state::closed) return false;
      if (seen == state::idle && change(seen, state::in_use, std::memory_order_acquire))
        return true;
      spin_pause();
    }
    // This thread does not know whether others sleep, so it leaves the state `contended`.
    for (auto seen = state_.load(std::memory_order_relaxed); seen != state::closed;) {
      if (seen == state::idle) {
        if (change(seen, state::contended, std::memory_order_acquire)) return true;
      } else if (seen == state::contended ||
                 change(seen, state::contended, std::memory_order_relaxed)) {
        state_.wait(state::contended, std::memory_order_relaxed);
        seen = state_.load(std::memory_order_relaxed);
      }
    }
    return false;
  }
  // Returns false if the local_lock was closed. The lock object must then release the lock.
  bool release(std::chrono::nanoseconds coarse_time) noexcept {
    idle_since_.store(coarse_time.count(), std::memory_order_relaxed);
    auto seen = state::in_use;
    if (change(seen, state::idle, std::memory_order_release)) return true;
    if (seen != state::contended || !change(seen, state::idle, std::memory_order_release))
      return false;
    state_.notify_one();
    return true;
  }
  bool in_use() const noexcept {
    const auto now = state_.load(std::memory_order_relaxed);
    return now == state::in_use || now == state::contended;
  }

  // --- called by the lock object, inside a session_context::scope

  // The lock must be kept. No effect if it is already open.
  void open() noexcept {
    auto seen = state::closed;
    change(seen, state::idle, std::memory_order_release);
  }
  // Returns true if a thread holds the lock. Its release() will return false.
  bool close() noexcept {
    const auto before = state_.exchange(state::closed, std::memory_order_acq_rel);
    // A thread that was just woken may find the lock closed. It then wakes no other thread, so all
    // threads are woken here, whatever the state was.
    if (before != state::closed) state_.notify_all();
    return before == state::in_use || before == state::contended;
  }
  // The session_clock::coarse_time() of the last release(). Valid after close().
  std::chrono::nanoseconds idle_since() const noexcept {
    return std::chrono::nanoseconds{idle_since_.load(std::memory_order_relaxed)};
  }

 private:
  static constexpr int spins = 100;  // about a microsecond: longer than a short critical section

  static void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }
  // On failure, sets `seen` to the current state.
  bool change(state& seen, state to, std::memory_order order) noexcept {
    return state_.compare_exchange_strong(seen, to, order, std::memory_order_relaxed);
  }

  std::atomic<state> state_{state::closed};
  std::atomic<std::chrono::nanoseconds::rep> idle_since_{0};
};

}  // namespace conclave::recipes
