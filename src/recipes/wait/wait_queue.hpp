// The contenders of a wait queue, sorted by sequence number. If the sequence numbers are exhausted,
// the contenders are sorted by czxid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conclave/layout.hpp"

namespace conclave::recipes {

struct queued_contender {
  std::string name;
  layout::role role = layout::role::exclusive;
  std::int32_t number = 0;  // the sequence number
  std::int64_t czxid = 0;   // needed only if sequence numbers do not order the contenders
};

// Returns true if the sequence numbers are exhausted and do not order these contenders. The
// contenders are then ordered by czxid.
bool ordered_by_creation(const std::vector<queued_contender>& all);

// Sorts contenders into the order of the wait queue.
void sort_contenders(std::vector<queued_contender>& all);

class wait_queue {
 public:
  wait_queue() = default;
  explicit wait_queue(std::vector<queued_contender> contenders);

  const queued_contender& operator[](std::size_t i) const { return sorted_[i]; }
  // Returns the index of the contender with this name. `number` is its sequence number.
  std::optional<std::size_t> find(std::string_view name, std::int32_t number) const;
  // Returns the index of the contender that blocks a contender with this index and role. A reader
  // waits for the last writer or mutex ahead. All others wait for the last contender ahead.
  std::optional<std::size_t> blocker_of(std::size_t index, layout::role r) const;

 private:
  std::vector<queued_contender> sorted_;
  bool by_creation_ = false;
  // For each contender: the index of the last writer or mutex ahead, plus 1. 0 if there is none.
  std::vector<std::size_t> up_to_writer_;
};

}  // namespace conclave::recipes
