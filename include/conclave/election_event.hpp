// The steps of a candidacy, as in ZooKeeper's LeaderElectionSupport.
//
//   start → offer → determine → elected     the candidate leads
//                       ↑ ↓                 the predecessor is gone: check again
//                      ready                there is a predecessor
//
// Every step can be followed by `failed` or `stop`. `failed` means that the candidacy ended with an
// error or that the leadership was lost. `stop` means that the candidate resigned or gave up. A
// waiting candidate whose session expires returns to `offer`.
//
// An object can start a new candidacy before the server has confirmed the end of the old one.
// Events of the new candidacy can then arrive before stop_complete of the old one.
#pragma once

#include <cstddef>
#include <string>

#include "conclave/error.hpp"

namespace conclave {

enum class election_state {
  stop,       // not a candidate
  start,      // has asked to become a candidate
  offer,      // creates its node
  determine,  // determines its predecessor
  ready,      // waits for its predecessor
  elected,    // leads
  failed,     // the candidacy or the leadership ended with an error
};

struct election_event {
  enum class kind {
    start,
    offer_start,
    offer_complete,
    determine_start,
    determine_complete,
    elected_start,
    elected_complete,
    ready_start,
    ready_complete,
    failed,
    stop_start,
    stop_complete,  // the server has confirmed the end of the candidacy, or the session has ended
  };
  kind type;
  std::string node;  // path of the candidate's node; empty before offer_complete
  error_code why;    // only for failed
};

// Returns the name of the enumerator, for example "offer_complete".
const char* to_string(election_event::kind k) noexcept;
const char* to_string(election_state s) noexcept;

}  // namespace conclave
