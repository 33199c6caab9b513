// What the kernel reports about processes, cores and the disk under the servers' data.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

namespace conclave::bench {

// User and system time of all threads of the process so far, in steps of 10 ms. 0 if there is no
// such process.
double cpu_us_of(pid_t pid);

// The same of everything that ran on one core, or on all of them.
double busy_us(std::optional<int> cpu);

// VmRSS. Throws std::runtime_error if there is no such process.
double resident_kib_of(pid_t pid);

// The kind of file system; throws std::runtime_error if it is in memory only.
std::string file_system_of(const std::filesystem::path& folder);

// The median time of a write of 512 bytes to the next place of a file that has its full length
// already, and of fdatasync: the least cost of one commit.
double flush_us(const std::filesystem::path& folder);

}  // namespace conclave::bench
