// Cells of tables for people.
#pragma once

#include <cstddef>
#include <string>

#include "spread.hpp"

namespace conclave::bench {

std::string number(double value);  // with as many decimals as its size deserves
std::string with_spread(const spread& s);

// Filled up with spaces. printf counts bytes; this counts characters of UTF-8.
std::string padded(std::string text, std::size_t width);

}  // namespace conclave::bench
