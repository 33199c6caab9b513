// Counts traffic without a relay, which would change what is measured.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace conclave::bench {

// Payload bytes, in both directions, of the open TCP connections of this process, or of another
// process, to the port.
std::uint64_t bytes_on_wire(std::uint16_t port);
std::uint64_t bytes_on_wire(std::uint16_t port, pid_t process);

}  // namespace conclave::bench
