// What the kernel knows of a running process, and of all of them.
#pragma once

#include <sys/types.h>

#include <optional>

namespace conclave::bench {

// User and system time of all its threads so far, in steps of 10 ms. 0 if there is none.
double cpu_us_of(pid_t pid);

// The same of everything that ran on one core, or on all of them.
double busy_us(std::optional<int> cpu);

// VmRSS. Throws std::runtime_error if there is no such process.
double resident_kib_of(pid_t pid);

}  // namespace conclave::bench
