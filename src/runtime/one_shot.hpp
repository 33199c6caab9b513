// A signal given once, for a blocking call to wait on: one futex, woken without a lock held, so
// that the woken thread never runs into one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace conclave::runtime {

class one_shot {
 public:
  // The waiter may destroy this object as soon as set() made it visible.
  void set() noexcept;
  void wait() noexcept;
  // Whether it was given by then.
  bool wait_until(std::chrono::steady_clock::time_point deadline) noexcept;

 private:
  std::atomic<std::uint32_t> state_{0};
};

}  // namespace conclave::runtime
