// Classifies errors for the recipes.
#pragma once

#include <cerrno>

#include "conclave/error.hpp"

namespace conclave::recipes {

// Returns true if the connection was lost, or if there was no connection. The request may or may
// not have been sent and executed.
inline bool is_connection_error(const error_code& ec) {
  return ec == errc::connection_loss || ec == errc::not_connected;
}

// Returns true if the request was sent and its outcome is unknown: the connection was lost, or the
// server itself timed out. The outcome of a cancelled request is also unknown, but recipes never
// cancel requests.
inline bool outcome_unknown(const error_code& ec) {
  return ec == errc::connection_loss || ec == errc::operation_timeout ||
         ec == errc::request_timeout;
}

inline bool is_session_end(const error_code& ec) {
  return ec == condition::session_dead || ec == errc::forked;
}

// For calls that were cancelled.
inline error_code cancelled() { return {ECANCELED, boost::system::system_category()}; }

}  // namespace conclave::recipes
