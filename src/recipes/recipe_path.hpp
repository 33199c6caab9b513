// Checks the paths of locks, semaphores, elections and queues.
#pragma once

#include <string>

#include "conclave/layout.hpp"

namespace conclave::recipes {

// Throws errc::invalid_path unless `path` is a valid path below the root. No name in it may be one
// that a recipe gives to its own children. Such a node would be mistaken for a contender, a permit
// or an item of the path above it. As a persistent node it would stay forever. `recipe` is used in
// the message.
void require_recipe_path(const std::string& recipe, const std::string& path);
// Does the same, and also rejects the names of this layout, which may be a custom one.
void require_recipe_path(const std::string& recipe, const std::string& path, const layout& names);

}  // namespace conclave::recipes
