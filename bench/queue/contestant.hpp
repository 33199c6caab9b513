// This library's side of the benchmark: a process that is told on standard input what to do, and
// answers on standard output, a line each. The contestants in Java and Python do the same:
//
//   run MODE SERVERS PATH PRODUCERS CONSUMERS FIRST ITEMS BYTES   ready: connected (see flow.hpp)
//   go                                                            going
//   count                                                         count N: items consumed so far
//   stop                                                          stopped N SUM BEGUN LAST
//
// The end of standard input ends it.
#pragma once

namespace conclave::bench {

inline constexpr const char* contestant_option = "--contestant";

void run_contestant();

}  // namespace conclave::bench
