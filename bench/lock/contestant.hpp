// This library's side of the benchmark: a process that is told on standard input what to do, and
// answers on standard output, a line each. The contestants in Java and Python do the same:
//
//   run MODE SERVERS PATH SESSIONS CONTENDERS FIRST   ready: connected, everybody asks for the lock
//   go                                                going (see contest.hpp)
//   count                                             count N: cycles so far
//   stop FILE                                         stopped: the cycles are in FILE
//
// The end of standard input ends it.
#pragma once

namespace conclave::bench {

inline constexpr const char* contestant_option = "--contestant";

void run_contestant();

}  // namespace conclave::bench
