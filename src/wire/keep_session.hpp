// A connection that keeps a session alive and accepts no requests: an addition of our own server,
// on its Unix socket only.
//
// The client sends a connect_request with this protocol version and the session's id and password.
// The server answers with a connect_response of the same version, whose password is zeros; or with
// session id 0 if there is no such session, and closes the connection. Anything that the client
// sends after that closes the connection.
#pragma once

#include <cstdint>
#include <limits>

namespace conclave::wire {

inline constexpr std::int32_t keep_session_version = 2;

// In the place of the last zxid seen. A server that does not know the request refuses a client from
// the future, and does not take the connection for the session's own.
inline constexpr std::int64_t keep_session_zxid = std::numeric_limits<std::int64_t>::max();

}  // namespace conclave::wire
