// Finds the known word that is most similar to an unknown one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace conclave::cli {

// Counts how many characters must be changed, added, removed, or swapped with the next one. The
// word may also be a prefix of a known word. Returns nothing if all known words differ too much.
std::optional<std::string> closest(std::string_view word, const std::vector<std::string>& known);

}  // namespace conclave::cli
