// Parts of node paths.
#pragma once

#include <string_view>

namespace conclave::server_impl {

// Returns the path of the parent, for example "/" for "/a". `path` must contain a slash.
inline std::string_view parent_path(std::string_view path) {
  const auto slash = path.rfind('/');
  return path.substr(0, slash == 0 ? 1 : slash);
}

// Returns true for the nodes that every store has and that clients cannot remove.
bool is_system_node(std::string_view path);

}  // namespace conclave::server_impl
