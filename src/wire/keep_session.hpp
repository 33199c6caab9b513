// A connection that keeps a session alive and accepts no requests. This is an extension of the
// embedded server that is available only on its Unix socket.
//
// The client sends a connect_request with this protocol version and the session's id and password.
// The server answers with a connect_response of the same version and an all-zero password. If there
// is no such session, it answers with session id 0 and closes the connection. The server also
// closes the connection if the client sends anything after the handshake.
#pragma once

#include <cstdint>
#include <limits>

namespace conclave::wire {

inline constexpr std::int32_t keep_session_version = 2;

// Sent in place of the last zxid seen. A server without this extension refuses a client that has
// seen such a zxid. So it does not move the session to this connection.
inline constexpr std::int64_t keep_session_zxid = std::numeric_limits<std::int64_t>::max();

}  // namespace conclave::wire
