// Makes nodes and those above them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "recipes/session_context.hpp"
#include "recipes/task.hpp"

namespace conclave::recipes {

// Of this kind; containers become persistent nodes on a server that has none. No error if they are
// there, nor if that cannot be told: whoever wants to create something below will see. Several are
// made in one round trip. `data`: of the last node of each path.
//
// The last `own_levels` nodes of each path belong to the recipe and get the default ACL. Those
// above are ancestors, which it shares with everybody: they get defaults::ancestors_acl.
task<error_code> make_paths(std::shared_ptr<session_context> p, std::shared_ptr<void> asker,
                            std::vector<std::string> paths, std::size_t own_levels,
                            create_mode mode, std::string data = {});
task<error_code> make_path(std::shared_ptr<session_context> p, std::shared_ptr<void> asker,
                           std::string path, std::size_t own_levels, create_mode mode,
                           std::string data = {});
// The nodes of a path from the top down, the path itself included: with the ACL for each, empty for
// the default.
struct path_level {
  std::string path;
  conclave::acl acl;
};
std::vector<path_level> levels_of(const requests::defaults& d, const std::string& path,
                                  std::size_t own_levels);

}  // namespace conclave::recipes
