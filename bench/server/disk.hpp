// The disk under the servers' data.
#pragma once

#include <filesystem>
#include <string>

namespace conclave::bench {

// The kind of file system; throws std::runtime_error if it is in memory only.
std::string file_system_of(const std::filesystem::path& folder);

// The median time of writing 512 bytes to the next place of a file that has its full length
// already, and fdatasync: what one commit costs at least.
double flush_us(const std::filesystem::path& folder);

}  // namespace conclave::bench
