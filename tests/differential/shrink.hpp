// Reduces a sequence of steps that shows a difference.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

namespace conclave::differential {

// Performs the steps with these indices. Returns the number of steps until the servers differ, or 0
// if they do not.
using trial = std::function<std::size_t(const std::vector<std::size_t>&)>;

// Removes smaller and smaller parts of `kept` while the rest still shows a difference. Ends when
// nothing can be removed or the time limit is reached.
std::vector<std::size_t> shrunk(std::vector<std::size_t> kept, const trial& differ_after,
                                std::chrono::seconds limit);

}  // namespace conclave::differential
