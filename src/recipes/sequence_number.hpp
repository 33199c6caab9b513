// The number that the server puts behind a sequential name, and its end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>

namespace conclave::recipes {

inline constexpr std::int32_t last_number = std::numeric_limits<std::int32_t>::max();

// Near the end the numbers do not order the contenders any more: one server sticks at the last
// number and uses it again, another goes on below zero.
constexpr bool near_the_end(std::int32_t number) {
  return number < 0 || number >= last_number - 0xffff;
}

// Below zero the numbers come to zero again, so two that are this far apart are of different
// rounds: nobody waits while so many others come.
inline constexpr std::int64_t far_apart = std::int64_t{1} << 30;

// Of two numbers of one round.
constexpr bool comes_later(std::int32_t number, std::int32_t than) {
  const auto distance = std::int64_t{number} - than;
  return distance > 0 && distance < far_apart;
}

// The numbers of the contenders in one wait queue.
class number_range {
 public:
  void add(std::int32_t number) {
    near_the_end_ = near_the_end_ || near_the_end(number);
    lowest_ = std::min(lowest_, number);
    highest_ = std::max(highest_, number);
  }
  // The numbers do not order them: the order is that of creation.
  bool ordered_by_age() const {
    return near_the_end_ || std::int64_t{highest_} - lowest_ >= far_apart;
  }

 private:
  std::int32_t lowest_ = last_number;
  std::int32_t highest_ = std::numeric_limits<std::int32_t>::min();
  bool near_the_end_ = false;
};

inline std::string format_number(std::int32_t number) {
  char text[16];
  std::snprintf(text, sizeof text, "%010d", number);
  return text;
}

}  // namespace conclave::recipes
