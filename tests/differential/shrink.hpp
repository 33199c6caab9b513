// Fewer steps that still show a difference.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

namespace conclave::differential {

// After how many of these steps (indices, in order) the servers differ; zero: they do not.
using trial = std::function<std::size_t(const std::vector<std::size_t>&)>;

// Leaves out ever smaller pieces of `kept` as long as the rest still fails, until nothing can be
// left out or the time is over.
std::vector<std::size_t> shrunk(std::vector<std::size_t> kept, const trial& differ_after,
                                std::chrono::seconds limit);

}  // namespace conclave::differential
