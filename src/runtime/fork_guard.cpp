#include "runtime/fork_guard.hpp"

#include <pthread.h>

#include <atomic>

namespace conclave::runtime {
namespace {

std::atomic<std::uint64_t> generation{0};

std::uint64_t current_generation() noexcept {
  [[maybe_unused]] static const int registered = ::pthread_atfork(
      nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  return generation.load(std::memory_order_relaxed);
}

}  // namespace

fork_guard::fork_guard() noexcept : generation_{current_generation()} {}

bool fork_guard::in_child() const noexcept {
  return generation.load(std::memory_order_relaxed) != generation_;
}

}  // namespace conclave::runtime
