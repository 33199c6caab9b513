// Internal declarations shared by the lock classes. Not part of the public interface.
#pragma once

#include <chrono>
#include <memory>

#include "conclave/client.hpp"
#include "conclave/layout.hpp"

namespace conclave {
class scoped_hold;
class downgradable_hold;
namespace client_impl {
struct lock_handle;
}  // namespace client_impl
}  // namespace conclave

namespace conclave::detail {

using lock_pointer = std::shared_ptr<client_impl::lock_handle>;

using deadline = std::chrono::steady_clock::time_point;
inline constexpr deadline no_deadline = deadline::max();
inline constexpr deadline at_once = deadline::min();

// Durations too large to add to now() mean no deadline.
inline constexpr std::chrono::duration<double> too_far = std::chrono::hours{24 * 365 * 100};
template <class Rep, class Period>
deadline deadline_after(const std::chrono::duration<Rep, Period>& d) {
  if (d <= d.zero()) return at_once;
  if (d > too_far) return no_deadline;
  return std::chrono::steady_clock::now() + std::chrono::ceil<deadline::duration>(d);
}
template <class Clock, class Duration>
deadline deadline_at(const std::chrono::time_point<Clock, Duration>& t) {
  // Estimates the distance first, because t - now would overflow for distant times.
  const auto now = Clock::now();
  const std::chrono::duration<double> ahead =
      std::chrono::duration<double>(t.time_since_epoch()) - now.time_since_epoch();
  if (ahead < -too_far) return at_once;
  if (ahead > too_far) return no_deadline;
  return deadline_after(t - now);
}

void start_lock(const lock_pointer&, receiver<void>, layout::role);
void start_try_lock(const lock_pointer&, receiver<bool>, layout::role, deadline);
// Complete with an empty hold if the lock was not acquired before the deadline.
void start_scoped_lock(const lock_pointer&, receiver<scoped_hold>, layout::role, deadline);
void start_downgradable_lock(const lock_pointer&, receiver<downgradable_hold>);
void start_unlock(const lock_pointer&, receiver<void>, layout::role);
void start_downgrade(const lock_pointer&, receiver<void>);
void start_resign(const lock_pointer&, receiver<void>);  // for elections

}  // namespace conclave::detail
