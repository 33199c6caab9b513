#include "conclave/session_event.hpp"

#include "conclave/watch.hpp"

namespace conclave {

const char* to_string(session_state s) noexcept {
  switch (s) {
    case session_state::connecting: return "connecting";
    case session_state::connected: return "connected";
    case session_state::suspended: return "suspended";
    case session_state::expired: return "expired";
    case session_state::closed: return "closed";
    case session_state::authentication_failed: return "authentication failed";
  }
  return "unknown";
}

const char* to_string(session_event::kind k) noexcept {
  switch (k) {
    case session_event::kind::connected: return "connected";
    case session_event::kind::suspended: return "suspended";
    case session_event::kind::reconnected: return "reconnected";
    case session_event::kind::expired: return "expired";
    case session_event::kind::closed: return "closed";
    case session_event::kind::authentication_failed: return "authentication failed";
  }
  return "unknown";
}

const char* to_string(watch_event::kind k) noexcept {
  switch (k) {
    case watch_event::kind::created: return "created";
    case watch_event::kind::deleted: return "deleted";
    case watch_event::kind::changed: return "changed";
    case watch_event::kind::children_changed: return "children changed";
    case watch_event::kind::session_ended: return "session ended";
    case watch_event::kind::possibly_missed: return "possibly missed";
    case watch_event::kind::watch_lost: return "watch lost";
  }
  return "unknown";
}

}  // namespace conclave
