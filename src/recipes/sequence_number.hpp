// The sequence number that the server appends to the name of a sequential node, and how it
// overflows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace conclave::recipes {

inline constexpr std::int32_t last_number = std::numeric_limits<std::int32_t>::max();

// Returns true if the sequence number is near the end of the range, where sequence numbers do not
// order the contenders. Some servers stop at the last sequence number and assign it again. Others
// continue with negative ones.
constexpr bool near_the_end(std::int32_t number) {
  return number < 0 || number >= last_number - 0xffff;
}

// After the negative sequence numbers, the counter reaches 0 again and begins its next round. It is
// assumed that fewer contenders than this arrive while another contender waits. So two sequence
// numbers that are this far apart belong to different rounds.
inline constexpr std::int64_t far_apart = std::int64_t{1} << 30;

// Compares two sequence numbers of the same round.
constexpr bool comes_later(std::int32_t number, std::int32_t than) {
  const auto distance = std::int64_t{number} - than;
  return distance > 0 && distance < far_apart;
}

// The sequence numbers of the contenders in one wait queue.
class number_range {
 public:
  void add(std::int32_t number) {
    near_the_end_ = near_the_end_ || near_the_end(number);
    lowest_ = std::min(lowest_, number);
    highest_ = std::max(highest_, number);
  }
  // Returns true if the sequence numbers do not order the contenders. The contenders are then
  // ordered by creation.
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

struct numbered_name {
  std::string_view prefix;  // the part before the sequence number
  std::int32_t number;
};
// Returns all ways to read the end of a name as a sequence number, the shortest prefix first. The
// server prints the number as %010d. It is negative after the counter has overflowed. So a name
// ends with a sign and ten digits, with ten digits, or with a sign and nine digits.
std::array<std::optional<numbered_name>, 3> split_sequence_number(std::string_view name);

}  // namespace conclave::recipes
