// Counts events and returns how many there were per second during the last ten seconds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "web/moment.hpp"

namespace conclave::web {

class rate {
 public:
  explicit rate(moment since) : since_{since / one_second} {}

  void add(moment at) {
    advance(at / one_second);
    ++counts_[index(second_)];
    ++total_;
  }
  double per_second(moment at) {
    advance(at / one_second);
    std::uint64_t sum = 0;
    for (const auto n : counts_) sum += n;
    const auto age = second_ - since_ + 1;
    return static_cast<double>(sum) / static_cast<double>(age < length ? age : length);
  }
  std::uint64_t total() const { return total_; }

 private:
  static constexpr std::int64_t length = 10;
  static std::size_t index(std::int64_t second) {
    return static_cast<std::size_t>(second % length);
  }
  void advance(std::int64_t second) {
    if (second_ == 0 || second - second_ >= length) {
      counts_ = {};
      second_ = second;
    }
    while (second_ < second) counts_[index(++second_)] = 0;
  }

  std::int64_t since_;
  std::int64_t second_ = 0;
  std::array<std::uint64_t, length> counts_{};
  std::uint64_t total_ = 0;
};

}  // namespace conclave::web
