// A listening TCP socket on a free port of 127.0.0.1 (see free_port.hpp).
#pragma once

#include <cstdint>
#include <utility>

namespace conclave::testing {

// The non-blocking, close-on-exec descriptor, owned by the caller, and its port.
// Throws std::system_error.
std::pair<int, std::uint16_t> listen_on_loopback();

}  // namespace conclave::testing
