// Histories of tasks that acquire several locks in any order, and so run into deadlocks. Meanwhile,
// a tool reads the nodes one after another and looks for deadlocks in them (wait_graph.hpp).
//
// A deadlock that the tool reports as certain must be one: all its tasks wait for each other at
// that moment. At the end, all tasks continue, except those whose deadlock the tool reports.
#pragma once

#include "simulation/histories/history.hpp"

namespace conclave::simulated {

workload deadlock_workload();

}  // namespace conclave::simulated
