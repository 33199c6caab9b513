// The zxid that a server begins with when the clock is ahead of its store: docs/decisions, 6.
#pragma once

#include <cstdint>

namespace conclave::server_impl {

// Milliseconds since 2025, and 12 bits for the changes of each. Exact in a double until 2094.
//
// A store that was written before this form has zxids of another one: seconds since 1970 in the
// upper half, their fraction in the lower. They are all greater, so such a store stays with its
// form: it may be an older backup, and must continue after everything that was given out since.
std::int64_t clock_zxid(std::int64_t wall_ms, std::int64_t stored_zxid);

}  // namespace conclave::server_impl
