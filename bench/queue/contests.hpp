// The series of rounds, and who takes part in which.
#pragma once

#include "harness/progress.hpp"
#include "options.hpp"
#include "round.hpp"
#include "series.hpp"

namespace conclave::bench {

// What Java's compilers learn from, in all processes and in the server.
void warm_up(arena& where, const options& wanted, progress_display& progress);

// Items through the queue: so many producers, as many consumers, all at the same time.
void compete_in_flow(arena& where, const options& wanted, results& found,
                     progress_display& progress);

// Items that are there already, and consumers only.
void compete_in_draining(arena& where, const options& wanted, results& found,
                         progress_display& progress);

}  // namespace conclave::bench
