// The value of a benchmark's --rounds.
#pragma once

#include <cstddef>
#include <string>

namespace conclave::bench {

// Throws std::runtime_error unless it is a number from 1 to 100.
std::size_t to_rounds(const std::string& text);

}  // namespace conclave::bench
