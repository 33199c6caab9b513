// Loopback TCP ports that are free at this moment.
//
// They are drawn at random from 12000-31999, below the range the kernel takes outgoing ports from:
// a client's own connection cannot land on one, and tests that run in parallel rarely draw the
// same. Nothing is reserved, so whoever binds a port must be ready to draw again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace conclave::testing {

std::uint16_t free_port();
std::vector<std::uint16_t> free_ports(std::size_t count);  // all different

}  // namespace conclave::testing
