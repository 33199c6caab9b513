// Finds the known word that is most similar to an unknown one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace conclave::cli {

// Counts the characters to change, add, remove, or swap with the next one. The word may also be a
// prefix of a known one. Returns nothing if all known words differ too much.
std::optional<std::string> closest(std::string_view word, const std::vector<std::string>& known);

}  // namespace conclave::cli
