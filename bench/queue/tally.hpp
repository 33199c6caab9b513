// What the consumers of a flow have done so far; safe from several threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "flow.hpp"

namespace conclave::bench {

class tally {
 public:
  void begin() {
    std::int64_t none = 0;
    begun_.compare_exchange_strong(none, monotonic_ns());
  }

  void consumed(const std::string& item) {
    sum_ += std::stoll(item);
    const auto now = monotonic_ns();
    for (auto before = last_.load(); before < now && !last_.compare_exchange_weak(before, now);) {
    }
    ++count_;
  }

  std::int64_t count() const { return count_; }
  flow_result result() const { return {count_, sum_, begun_, last_}; }

 private:
  std::atomic<std::int64_t> begun_{0};
  std::atomic<std::int64_t> sum_{0};
  std::atomic<std::int64_t> last_{0};
  std::atomic<std::int64_t> count_{0};  // added to last: who reads it finds the rest
};

}  // namespace conclave::bench
