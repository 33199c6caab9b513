// What a recipe makes of an error.
#pragma once

#include "conclave/error.hpp"

namespace conclave::recipes {

// Perhaps it happened, perhaps it was not even sent: there was no connection to say so.
inline bool connection_trouble(const error_code& ec) {
  return ec == errc::connection_loss || ec == errc::not_connected;
}

inline bool session_is_over(const error_code& ec) {
  return ec == condition::session_dead || ec == errc::forked;
}

}  // namespace conclave::recipes
