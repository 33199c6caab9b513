// The first zxid of a server process, derived from the clock (see docs/decisions/0006).
#pragma once

#include <cstdint>

namespace conclave::server_impl {

// Returns the milliseconds since 2025, followed by 12 bits for the changes of each millisecond.
// Doubles represent these zxids exactly until 2094.
//
// Older stores use a different form: the seconds since 1970 in the upper 32 bits and the fraction
// of the second in the lower 32 bits. Those zxids are greater, so a store that contains such a zxid
// keeps the old form. The clock is used in the old form, too, because the store may be a restored
// backup. Its new zxids must be greater than all zxids that were assigned after the backup.
std::int64_t clock_zxid(std::int64_t wall_ms, std::int64_t stored_zxid);

}  // namespace conclave::server_impl
