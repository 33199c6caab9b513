// Checks the paths of locks, semaphores, elections and queues.
#pragma once

#include <string>

#include "conclave/layout.hpp"

namespace conclave::recipes {

// Throws errc::invalid_path unless `path` is a valid path below the root. Also throws if a name in
// the path is one that a recipe gives to its own children. The recipe of the parent path would
// mistake such a node for a contender, a permit or an item. The node would stay forever, because it
// is persistent. `recipe` is used in the message.
void require_recipe_path(const std::string& recipe, const std::string& path);
// Like the function above, but also rejects the names of this layout, which may be a custom layout.
void require_recipe_path(const std::string& recipe, const std::string& path, const layout& names);

}  // namespace conclave::recipes
