// What a recipe makes of an error.
#pragma once

#include "conclave/error.hpp"

namespace conclave::recipes {

// Perhaps it happened, perhaps it was not even sent: there was no connection to say so.
inline bool is_connection_error(const error_code& ec) {
  return ec == errc::connection_loss || ec == errc::not_connected;
}

// It was sent, and perhaps it happened: the connection ended, or the server itself did not hear in
// time what became of it. (One that we cancelled would be another of this kind; recipes do not.)
inline bool outcome_unknown(const error_code& ec) {
  return ec == errc::connection_loss || ec == errc::operation_timeout ||
         ec == errc::request_timeout;
}

inline bool is_session_end(const error_code& ec) {
  return ec == condition::session_dead || ec == errc::forked;
}

}  // namespace conclave::recipes
