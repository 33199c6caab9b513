// The life of a client's session, told in one order from one thread.
//
//   connecting --connected--> connected --suspended--> suspended --reconnected--> connected
//                                                        suspended --expired-----> connecting
//   any --closed--> closed        any --authentication_failed--> authentication_failed
//
// A server that falls silent is left after two thirds of the session timeout; a shorter pause shows
// only as slow calls.
//
// Suspended is not lost: the session and its ephemeral nodes live on at the server until the
// session timeout has passed. Only the server can say that it expired; until when it cannot have,
// session_deadline() tells.
#pragma once

#include <cstdint>

#include "conclave/error.hpp"

namespace conclave {

enum class session_state {
  connecting,  // no session yet
  connected,
  suspended,  // a session, but no connection to a server
  expired,    // only with client_options::renew_expired off
  closed,
  authentication_failed,
};

struct session_event {
  enum class kind {
    connected,              // a new session
    suspended,              // the connection was lost
    reconnected,            // the same session again, perhaps on another server
    expired,                // the session and its ephemeral nodes are gone
    closed,                 // by close()
    authentication_failed,  // the server refused the credentials; the client is of no more use
  };

  kind type{};
  std::int64_t session_id = 0;
  error_code reason;  // why suspended
};

const char* to_string(session_state s) noexcept;
const char* to_string(session_event::kind k) noexcept;

}  // namespace conclave
