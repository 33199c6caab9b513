// Runs one round, in this process or in one of its own (see harness/figures.hpp).
#pragma once

#include "assignment.hpp"
#include "harness/figures.hpp"

namespace conclave::bench {

// In this process: prints the figures.
void run_worker(const assignment& a);

// In a process of its own. A disturbed round is repeated once, and the less disturbed one counts:
// what decides is what others did, never how fast the round was.
figures measure(const assignment& a);

}  // namespace conclave::bench
