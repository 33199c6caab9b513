#include "driver/pipeline.hpp"

#include <stdexcept>
#include <string>

namespace conclave::bench {

std::optional<std::size_t> pipeline::next() noexcept {
  const auto number = started_.fetch_add(1, std::memory_order_relaxed);
  return number < total_ ? std::optional(number) : std::nullopt;
}

void pipeline::completed(bool success) noexcept {
  if (!success) failed_.fetch_add(1, std::memory_order_relaxed);
  if (completed_.fetch_add(1, std::memory_order_acq_rel) + 1 < total_) return;
  const std::lock_guard lock(mutex_);  // must be held while notifying; see the header
  done_ = true;
  changed_.notify_one();
}

void pipeline::wait(std::chrono::seconds limit) {
  if (total_ == 0) return;
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, limit, [this] { return done_; }))
    throw std::runtime_error("pipelined operations did not complete in time");
  if (failed_ > 0)
    throw std::runtime_error(std::to_string(failed_) + " of " + std::to_string(total_) +
                             " pipelined operations failed");
}

}  // namespace conclave::bench
