// Paths of nodes and kinds of recipes.
#pragma once

#include <string>
#include <string_view>

#include "conclave/inspect.hpp"

namespace conclave::web {

inline std::string parent_path(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}
inline std::string_view last_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

inline bool is_at_or_below(const std::string& path, const std::string& root) {
  if (root == "/" || path == root) return true;
  return path.size() > root.size() && path.starts_with(root) && path[root.size()] == '/';
}

// Returns true for locks and semaphores, whose holders can be asked to release them.
inline bool is_lock(const recipe_info& r) {
  using kind = recipe_info::kind;
  return r.what == kind::lock || r.what == kind::read_write_lock || r.what == kind::semaphore;
}

}  // namespace conclave::web
