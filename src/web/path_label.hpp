// The value of the label `path` in the metrics.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace conclave::web {

inline constexpr std::size_t max_path_label_bytes = 256;

// Returns the path. If it is longer than the limit, returns its beginning, two slashes and a hash
// of the whole path. Different paths have different labels, because no path contains two slashes in
// a row.
std::string path_label(std::string_view path);

}  // namespace conclave::web
