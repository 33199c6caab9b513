// A worker of the benchmarks of locks and queues. It is a process that reads commands from standard
// input and writes replies to standard output, one per line. Workers in Java and Python use the
// same commands:
//
//   command             reply
//   prepare ARGUMENTS   ready: the worker is connected
//   start               started: the load runs
//   count               count N: the number of operations so far
//   stop [ARGUMENT]     stopped [RESULT]
//
// The worker exits at the end of standard input.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <memory>
#include <string>

namespace conclave::bench {

// The load that one process generates in one round.
class recipe_load {
 public:
  virtual ~recipe_load() = default;
  virtual void start() = 0;
  virtual std::int64_t count() const = 0;
  // Closes the sessions.
  virtual std::string stop(const std::string& argument) = 0;
};

void serve_loads(const std::function<std::unique_ptr<recipe_load>(std::istream&)>& prepare);

// CLOCK_MONOTONIC, which is the same for C++, Java and Python on one machine.
std::int64_t monotonic_ns();

// Prints the message and exits, because a round with an error cannot be used.
[[noreturn]] void abort_round(const char* operation, const char* message);

}  // namespace conclave::bench
