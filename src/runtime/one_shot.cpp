#include "runtime/one_shot.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace conclave::runtime {
namespace {

constexpr std::uint32_t empty = 0;
constexpr std::uint32_t waiting = 1;
constexpr std::uint32_t given = 2;

}  // namespace

void one_shot::set() noexcept {
  // Waking an address that is gone by now is harmless: at worst an unrelated futex there sees a
  // spurious wake-up, which every futex user must expect.
  auto* address = &state_;
  if (state_.exchange(given, std::memory_order_acq_rel) == waiting)
    ::syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void one_shot::wait() noexcept {
  auto seen = empty;
  if (!state_.compare_exchange_strong(seen, waiting, std::memory_order_acq_rel)) return;
  while (state_.load(std::memory_order_acquire) == waiting)
    ::syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, waiting, nullptr, nullptr, 0);
}

}  // namespace conclave::runtime
