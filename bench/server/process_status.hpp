// What the kernel knows of a running process, and of all of them.
#pragma once

#include <sys/types.h>

namespace conclave::bench {

// User and system time of all its threads so far, in steps of 10 ms. 0 if there is none.
double cpu_us_of(pid_t pid);

// The same of everything that ran on this machine.
double machine_cpu_us();

// VmRSS. Throws std::runtime_error if there is no such process.
double resident_kib_of(pid_t pid);

}  // namespace conclave::bench
