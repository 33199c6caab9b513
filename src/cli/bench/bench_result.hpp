// The result of one benchmark: the number of operations, the total time, and the time of each
// operation.
#pragma once

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <vector>

namespace conclave::cli {

struct bench_result {
  std::size_t count = 0;
  std::chrono::nanoseconds time{0};
  // One duration for each operation. Empty if the duration of a single operation is not meaningful.
  std::vector<std::chrono::nanoseconds> each;

  double per_second() const {
    return time.count() == 0 ? 0
                             : static_cast<double>(count) * 1e9 / static_cast<double>(time.count());
  }
  // Returns the percentile p in milliseconds. p = 50 is the median. `each` must not be empty.
  double percentile_ms(std::size_t p) {
    const auto at = each.begin() + static_cast<std::ptrdiff_t>((each.size() - 1) * p / 100);
    std::nth_element(each.begin(), at, each.end());
    return static_cast<double>(at->count()) / 1e6;
  }
};

// The period of one benchmark: a warm-up, followed by the measured part. If the measured part ends
// without a counted operation, the measurement continues until one operation was counted.
class measurement_period {
 public:
  using clock = std::chrono::steady_clock;

  measurement_period(clock::duration time, std::stop_token stop)
      : counts_from_{clock::now() + time / 10}, end_{counts_from_ + time}, stop_{std::move(stop)} {}

  bool is_over(clock::time_point now, bool counted_any) const {
    return (now >= end_ && counted_any) || stop_.stop_requested();
  }
  bool counts(clock::time_point began) const { return began >= counts_from_; }
  clock::time_point end() const { return end_; }
  std::chrono::nanoseconds counted(clock::time_point now) const {
    return std::max<clock::duration>(now - counts_from_, clock::duration::zero());
  }
  const std::stop_token& stop() const { return stop_; }

 private:
  clock::time_point counts_from_, end_;
  std::stop_token stop_;
};

}  // namespace conclave::cli
