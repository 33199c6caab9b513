// For a word that is not known: the known one that was probably meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace conclave::cli {

// By the number of characters to change, add, remove or swap with the next one; and the word may
// be the beginning of a known one. None if all of them differ too much.
std::optional<std::string> closest(std::string_view word, const std::vector<std::string>& known);

}  // namespace conclave::cli
