// The numbers behind conclave::metrics. All members may be called from any thread.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_set>

#include "conclave/error.hpp"
#include "conclave/metrics.hpp"

namespace conclave {

class metric_counter {
 public:
  void add(std::uint64_t n = 1) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
  void subtract_one() noexcept { value_.fetch_sub(1, std::memory_order_relaxed); }
  std::uint64_t read() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class metric_histogram {
 public:
  void add(std::chrono::nanoseconds d) noexcept {
    const auto n = std::max<std::int64_t>(d.count(), 0);
    const auto at = std::lower_bound(limits_.begin(), limits_.end(), n) - limits_.begin();
    counts_[static_cast<std::size_t>(at)].add();
    sum_.add(static_cast<std::uint64_t>(n));
  }
  duration_histogram read() const noexcept {
    duration_histogram h;
    for (std::size_t i = 0; i < counts_.size(); ++i) h.counts[i] = counts_[i].read();
    h.sum = static_cast<double>(sum_.read()) / 1e9;
    return h;
  }

 private:
  static constexpr auto limits_ = [] {
    std::array<std::int64_t, duration_histogram::limits.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = static_cast<std::int64_t>(duration_histogram::limits[i] * 1e9 + 0.5);
    return all;
  }();

  std::array<metric_counter, limits_.size() + 1> counts_;
  metric_counter sum_;  // in nanoseconds
};

class loss_counters {
 public:
  void add(const error_code& why) noexcept;
  metrics_snapshot::loss_counts read() const noexcept;

 private:
  metric_counter deadline_passed_, session_expired_, node_deleted_, closed_, auth_failed_;
};

// The counters of different kinds are in different cache lines, because different threads use them.
struct alignas(64) lock_counters {
  std::array<metric_counter, acquire_outcome_count> calls;  // by outcome
  metric_counter local;  // granted without a request, but by a call that took the mutex
  metric_counter waiting, holding;
  loss_counters lost;
  metric_histogram wait, hold;

  void completed(acquire_outcome o, std::chrono::nanoseconds waited) noexcept {
    waiting.subtract_one();
    calls[static_cast<std::size_t>(o)].add();
    if (o == acquire_outcome::acquired) wait.add(waited);
  }
};

struct queue_call_counters {
  metric_counter succeeded, unavailable, cancelled, failed;
  metric_histogram time;

  // `ec` is errc::lock_busy if the queue was empty or full.
  void completed(const error_code& ec, std::chrono::nanoseconds took) noexcept;
  metrics_snapshot::queue_call_counts read() const noexcept;
};

class local_grant_counter;

class metric_counters {
 public:
  struct session_counters {
    metric_counter started, connections_lost, reconnects, expired, failed_attempts;
  };
  struct alignas(64) request_counters {
    metric_counter succeeded, refused, outcome_unknown, cancelled, failed;
    metric_histogram latency;
    void completed(const error_code& ec) noexcept;
  };
  struct alignas(64) queue_counters {
    queue_call_counters push, pop, claim, complete;
    metric_counter pushed_items, popped_items, released_claims;
    loss_counters lost_claims;
    metric_histogram claim_time;
  };

  session_counters sessions;
  request_counters requests;
  std::array<lock_counters, lock_kind_count> locks;  // by kind
  queue_counters queues;

  lock_counters& of(lock_kind k) noexcept { return locks[static_cast<std::size_t>(k)]; }
  metrics_snapshot read() const;

 private:
  friend class local_grant_counter;

  mutable std::mutex mutex_;
  std::unordered_set<const local_grant_counter*> local_grants_;
  std::array<std::uint64_t, lock_kind_count> ended_local_grants_{};  // of destroyed counters
};

// Counts the local grants of one lock object that take no mutex. An atomic increment would take a
// tenth of the time of such a grant. But only the holder of the lock counts, so that one load and
// one store suffice. The atomic is for readers.
class alignas(64) local_grant_counter {
 public:
  // `all` must live longer.
  local_grant_counter(metric_counters& all, lock_kind k);
  ~local_grant_counter();
  local_grant_counter(const local_grant_counter&) = delete;
  local_grant_counter& operator=(const local_grant_counter&) = delete;

  // Must be called by the holder of the lock.
  void add_one() noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

 private:
  friend class metric_counters;

  std::atomic<std::uint64_t> value_{0};
  metric_counters& all_;
  const std::size_t kind_;
};

}  // namespace conclave
