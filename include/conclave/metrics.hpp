// Counts and histograms of what the clients of a program do. Off by default.
//
//   const auto metrics = std::make_shared<conclave::metrics>();
//   conclave::client_options options;
//   options.metrics = metrics;
//   conclave::client zk{"zk1:2181", options};
//   ...
//   reply(conclave::prometheus_text(metrics->snapshot()));  // for GET /metrics
//
// Several clients can share one object, which then has the sums of all of them. The object may be
// created before its clients and outlive them.
//
// Threads: all members may be called from any thread, at any time. A snapshot takes no lock that a
// lock call needs. Each of its numbers is exact, but the numbers are read one after the other, so
// they can differ by the calls that run meanwhile.
//
// Cost: without this object, each place that counts tests one pointer. With it, counting takes
// relaxed atomic operations and, for a lock, four readings of the clock. It takes no lock and
// allocates no memory. docs/client-metrics.md has the measured cost.
//
// Calls are counted when they complete. Calls that throw before they begin are not counted, for
// example because of an invalid path or because they were made on the I/O thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace conclave {

class metric_counters;

enum class lock_kind {
  lock,             // mutex, recursive_mutex, multi_mutex and named_mutex
  read_write_lock,  // shared_mutex
  semaphore,
  election,
};
inline constexpr std::size_t lock_kind_count = 4;

// How a call that acquires a lock ended.
enum class acquire_outcome {
  acquired,
  contended,  // a call that does not wait found another contender
  timed_out,  // the deadline of a timed call passed
  cancelled,  // a stop was requested, the call was cancelled, or the lock object was destroyed
  failed,     // with an error
};
inline constexpr std::size_t acquire_outcome_count = 5;

const char* to_string(lock_kind k) noexcept;
const char* to_string(acquire_outcome o) noexcept;

struct duration_histogram {
  // The upper limits of the ranges, in seconds. The last range has no limit.
  static constexpr std::array<double, 19> limits{
      0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
      0.25,   0.5,     1,      2.5,   5,      10,    30,   120,   600};

  std::array<std::uint64_t, limits.size() + 1> counts{};  // each duration is in one range
  double sum = 0;                                         // in seconds

  std::uint64_t total() const noexcept {
    std::uint64_t all = 0;
    for (const auto n : counts) all += n;
    return all;
  }
};

struct metrics_snapshot {
  struct session_counts {
    std::uint64_t started = 0;
    std::uint64_t connections_lost = 0;  // while the session was open
    std::uint64_t reconnects = 0;        // to the same session
    std::uint64_t expired = 0;
    std::uint64_t failed_attempts = 0;  // to connect
  };

  // Requests to the server, also those of locks, elections and queues. Pings are not counted, and
  // neither are requests that the client refuses at once. A read that is sent again on another
  // connection counts as one request.
  struct request_counts {
    std::uint64_t succeeded = 0;
    std::uint64_t refused = 0;          // the server answered with an error
    std::uint64_t outcome_unknown = 0;  // errc::connection_loss
    std::uint64_t cancelled = 0;
    std::uint64_t failed = 0;  // no connection, the session ended, or an unusable reply
    // From sending a request to receiving its reply. Contains answered requests only.
    duration_histogram latency;
  };

  struct loss_counts {
    std::uint64_t deadline_passed = 0;
    std::uint64_t session_expired = 0;
    std::uint64_t node_deleted = 0;
    std::uint64_t closed = 0;  // the client was closed
    std::uint64_t auth_failed = 0;

    std::uint64_t total() const noexcept {
      return deadline_passed + session_expired + node_deleted + closed + auth_failed;
    }
  };

  // While a lock is kept (lock_options::keep_for), a thread can acquire and release it with two
  // atomic operations. A reading of the clock would take longer than that, so these acquisitions
  // and their holds are counted but not timed.
  struct lock_counts {
    std::uint64_t acquired = 0;
    std::uint64_t contended = 0, timed_out = 0, cancelled = 0, failed = 0;  // see acquire_outcome
    std::uint64_t local = 0;    // of `acquired`: granted by the lock object, without a request
    std::uint64_t untimed = 0;  // of `local`: not in `wait`, `hold` and `holding`
    std::uint64_t waiting = 0;  // calls that have not completed yet
    std::uint64_t holding = 0;  // holds that have not ended yet
    loss_counts lost;
    duration_histogram wait;  // from a call to the grant, for acquired locks
    duration_histogram hold;  // from the grant to the release or the loss
  };

  struct queue_call_counts {
    std::uint64_t succeeded = 0;
    std::uint64_t unavailable = 0;  // the queue was empty or full until the call gave up
    std::uint64_t cancelled = 0;
    std::uint64_t failed = 0;
    duration_histogram time;  // from a call to its result, for successful calls
  };
  struct queue_counts {
    queue_call_counts push, pop, claim, complete;
    std::uint64_t pushed_items = 0;
    std::uint64_t popped_items = 0;     // popped or completed
    std::uint64_t released_claims = 0;  // their items returned to the queue
    loss_counts lost_claims;
    duration_histogram claim_time;  // from a claim to its completion, release or loss
  };

  const lock_counts& of(lock_kind k) const noexcept { return locks[static_cast<std::size_t>(k)]; }

  session_counts sessions;
  request_counts requests;
  std::array<lock_counts, lock_kind_count> locks{};  // by kind
  queue_counts queues;
};

class metrics {
 public:
  metrics();
  ~metrics();
  metrics(const metrics&) = delete;
  metrics& operator=(const metrics&) = delete;

  metrics_snapshot snapshot() const;

  metric_counters& counters() noexcept { return *counters_; }  // used by the library

 private:
  std::unique_ptr<metric_counters> counters_;
};

// Returns the snapshot in the text format of Prometheus (version 0.0.4). docs/client-metrics.md
// lists the metrics. No label has a path as its value, so the number of time series is constant.
std::string prometheus_text(const metrics_snapshot& s);

}  // namespace conclave
