// Counts allocated memory. Replaces the global operator new.
#pragma once

#include <cstddef>

namespace conclave::wire {

// Bytes requested from operator new since the program started.
std::size_t allocated_bytes() noexcept;

}  // namespace conclave::wire
