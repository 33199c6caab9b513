// How much memory this program takes: replaces the global operator new to count.
#pragma once

#include <cstddef>

namespace conclave::wire {

// Bytes asked of operator new since the program started.
std::size_t allocated_bytes() noexcept;

}  // namespace conclave::wire
