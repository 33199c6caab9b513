// A session that a server ended by itself, because it had not heard of it for so long.
#pragma once

#include <cstdint>

#include "chaos/history.hpp"

namespace conclave::chaos {

struct expiry {
  nanoseconds at = 0;
  std::int64_t session = 0;
};

}  // namespace conclave::chaos
