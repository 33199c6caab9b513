// The series of rounds, and who takes part in which.
#pragma once

#include "harness/progress.hpp"
#include "options.hpp"
#include "round.hpp"
#include "series.hpp"

namespace conclave::bench {

// What Java's compilers learn from, in all processes and in the server.
void warm_up(arena& where, const options& wanted, progress_display& progress);

// One client and nobody else.
void compete_alone(arena& where, const options& wanted, results& found, progress_display& progress);

// Clients with a session and a thread each.
void compete_for_turns(arena& where, const options& wanted, results& found,
                       progress_display& progress);

// Many waiters in ten sessions. Who has had the lock goes to the end of the line, so that their
// number stays. A lock that cannot do it in reasonable time at one length is not asked for the
// next.
void compete_with_waiters(arena& where, const options& wanted, results& found,
                          progress_display& progress);

}  // namespace conclave::bench
