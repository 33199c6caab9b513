// The steps of a candidacy, as ZooKeeper's LeaderElectionSupport has them.
//
//   start → offer → determine → elected            we lead
//                       ↑ ↓                        the one before us has gone: look again
//                      ready                       there is somebody before us
//
// From anywhere: failed (the candidacy ended with an error, or leadership was lost), and stop
// (resigned, or given up). A candidate whose session expires while it waits goes back to offer. If
// the next candidacy of an object begins before the last one has been confirmed to be over, its
// first steps are told before that stop_complete.
#pragma once

#include <cstddef>
#include <string>

#include "conclave/error.hpp"

namespace conclave {

enum class election_state {
  stop,       // no candidate
  start,      // asked to be one
  offer,      // makes its node
  determine,  // looks who is before it
  ready,      // waits for the one before it to go
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
    stop_complete,  // the server has confirmed that we are gone, or the session is over
  };
  kind type;
  std::string node;  // our node's path; empty before offer_complete
  error_code why;    // of failed
};

// "offer_complete" and so on.
const char* to_string(election_event::kind k) noexcept;
const char* to_string(election_state s) noexcept;

}  // namespace conclave
