// A worker of the benchmarks of locks and queues: a process that reads commands from standard input
// and answers on standard output, a line each. Workers in Java and Python do the same:
//
//   prepare ARGUMENTS   ready: connected
//   start               started: the load runs
//   count               count N: operations so far
//   stop [ARGUMENT]     stopped [RESULT]
//
// The end of standard input ends the worker.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <memory>
#include <string>

namespace conclave::bench {

// The load that one process puts on the server in one round.
class recipe_load {
 public:
  virtual ~recipe_load() = default;
  virtual void start() = 0;
  virtual std::int64_t count() const = 0;
  // Ends the sessions.
  virtual std::string stop(const std::string& argument) = 0;
};

void serve_loads(const std::function<std::unique_ptr<recipe_load>(std::istream&)>& prepare);

// CLOCK_MONOTONIC, which C++, Java and Python on one machine share.
std::int64_t monotonic_ns();

// A round with an error in it is no measurement: prints the message and ends the process.
[[noreturn]] void abort_round(const char* operation, const char* message);

}  // namespace conclave::bench
