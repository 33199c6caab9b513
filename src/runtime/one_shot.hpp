// A one-time event for which a blocking call waits. It is a futex. It is set while no mutex is
// held, so the woken thread never has to wait for a mutex.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace conclave::runtime {

class one_shot {
 public:
  // Sets the event and wakes the waiter, which may destroy this object as soon as it sees the
  // event.
  void set() noexcept;
  void wait() noexcept;
  // Returns true if the event was set before the deadline.
  bool wait_until(std::chrono::steady_clock::time_point deadline) noexcept;

 private:
  std::atomic<std::uint32_t> state_{0};
};

}  // namespace conclave::runtime
