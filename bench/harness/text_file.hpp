#pragma once

#include <filesystem>
#include <string>

namespace conclave::bench {

// All of a file; empty if there is none.
std::string text_of(const std::filesystem::path& file);

}  // namespace conclave::bench
