#include "runtime/one_shot.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace conclave::runtime {
namespace {

constexpr std::uint32_t empty = 0;
constexpr std::uint32_t waiting = 1;
constexpr std::uint32_t is_set = 2;

}  // namespace

void one_shot::set() noexcept {
  // Waking an address that is already freed is harmless. At worst, an unrelated futex there gets a
  // spurious wake-up, which every futex user must expect.
  auto* address = &state_;
  if (state_.exchange(is_set, std::memory_order_acq_rel) == waiting)
    ::syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void one_shot::wait() noexcept {
  auto seen = empty;
  if (!state_.compare_exchange_strong(seen, waiting, std::memory_order_acq_rel)) return;
  while (state_.load(std::memory_order_acquire) == waiting)
    ::syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, waiting, nullptr, nullptr, 0);
}

bool one_shot::wait_until(std::chrono::steady_clock::time_point deadline) noexcept {
  auto seen = empty;
  if (!state_.compare_exchange_strong(seen, waiting, std::memory_order_acq_rel)) return true;
  while (state_.load(std::memory_order_acquire) == waiting) {
    const auto left = deadline - std::chrono::steady_clock::now();
    if (left <= left.zero()) {
      seen = waiting;
      return !state_.compare_exchange_strong(seen, empty, std::memory_order_acq_rel);
    }
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    const timespec limit{seconds.count(),
                         static_cast<long>(std::chrono::nanoseconds{left - seconds}.count())};
    ::syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, waiting, &limit, nullptr, 0);
  }
  return true;
}

}  // namespace conclave::runtime
