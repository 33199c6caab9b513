// States of a client's session, and the events that report their changes in order.
//
//   connecting --connected--> connected --suspended--> suspended --reconnected--> connected
//                                                        suspended --expired-----> connecting
//   any --closed--> closed        any --authentication_failed--> authentication_failed
//
// The client gives up a connection when the server sends nothing for two thirds of the session
// timeout. Shorter interruptions only slow calls down.
//
// A suspended session is not lost. The server keeps the session and its ephemeral nodes until the
// session timeout has passed. Only the server knows whether the session has expired. The session
// cannot have expired before client::session_deadline().
#pragma once

#include <cstdint>

#include "conclave/error.hpp"

namespace conclave {

enum class session_state {
  connecting,  // no session yet
  connected,
  suspended,  // the session has no connection to a server
  expired,    // only if client_options::renew_expired is false
  closed,
  authentication_failed,
};

struct session_event {
  enum class kind {
    connected,              // a new session
    suspended,              // the connection was lost
    reconnected,            // the same session, possibly on a different server
    expired,                // the session has expired, and its ephemeral nodes are deleted
    closed,                 // by client::close()
    authentication_failed,  // the server refused the credentials; the client does not reconnect
  };

  kind type{};
  std::int64_t session_id = 0;
  error_code reason;  // only for suspended
};

const char* to_string(session_state s) noexcept;
const char* to_string(session_event::kind k) noexcept;

}  // namespace conclave
