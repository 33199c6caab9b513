// A session that a server has expired.
#pragma once

#include <cstdint>

#include "chaos/history.hpp"

namespace conclave::chaos {

struct expiry {
  nanoseconds at = 0;
  std::int64_t session = 0;
};

}  // namespace conclave::chaos
