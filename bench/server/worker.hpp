// Runs one round, in this process or in one of its own (see harness/figures.hpp).
#pragma once

#include "assignment.hpp"
#include "harness/figures.hpp"

namespace conclave::bench {

// In this process: prints the figures.
void run_worker(const assignment& a);

// In a process of its own.
figures measure(const assignment& a);

}  // namespace conclave::bench
