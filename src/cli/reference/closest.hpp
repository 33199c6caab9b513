// Finds the known word that is most similar to an unknown one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace conclave::cli {

// The difference between two words is the number of edits that turn one into the other: a changed,
// added or removed character, or a swap of two neighbours. The word may also be a prefix of a known
// word. Returns nullopt if all known words differ too much.
std::optional<std::string> closest(std::string_view word, const std::vector<std::string>& known);

}  // namespace conclave::cli
