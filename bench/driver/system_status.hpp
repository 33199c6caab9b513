// Information from the kernel about processes, cores, and the disk with the servers' data.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

namespace conclave::bench {

// User and system time of all threads of the process so far. 0 if there is no such process.
double cpu_us_of(pid_t pid);

// The same of everything that ran on one core, or on all of them, in steps of 10 ms.
double busy_us(std::optional<int> cpu);

// Returns VmRSS. Throws std::runtime_error if the process does not exist.
double resident_kib_of(pid_t pid);

// Returns the type of the file system. Throws std::runtime_error if it is only in memory.
std::string file_system_of(const std::filesystem::path& folder);

// Returns the median time of a sequential write of 512 bytes to a preallocated file, followed by
// fdatasync. This is the minimum cost of one commit.
double flush_us(const std::filesystem::path& folder);

}  // namespace conclave::bench
