// Creates nodes and their missing ancestors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "recipes/session_context.hpp"
#include "recipes/task.hpp"

namespace conclave::recipes {

// Creates all levels of these paths with this mode, in one round trip. On a server without
// containers, creates persistent nodes instead. It is not an error if a node already exists. An
// unknown outcome is not an error either: the next creation below the path shows whether the path
// exists. `data` is written to the last node of each path.
//
// The last `own_levels` nodes of each path belong to the recipe and get the default ACL. The nodes
// above are shared with other users and get defaults::ancestors_acl.
task<error_code> make_paths(std::shared_ptr<session_context> context, std::shared_ptr<void> owner,
                            std::vector<std::string> paths, std::size_t own_levels,
                            create_mode mode, std::string data = {});
task<error_code> make_path(std::shared_ptr<session_context> context, std::shared_ptr<void> owner,
                           std::string path, std::size_t own_levels, create_mode mode,
                           std::string data = {});
// The nodes of a path from the top down, including the path itself. An empty ACL means the default
// ACL.
struct path_level {
  std::string path;
  conclave::acl acl;
};
std::vector<path_level> levels_of(const requests::defaults& d, const std::string& path,
                                  std::size_t own_levels);

}  // namespace conclave::recipes
