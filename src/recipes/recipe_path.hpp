// Where a lock, a semaphore, an election or a queue may be.
#pragma once

#include <string>

#include "conclave/layout.hpp"

namespace conclave::recipes {

// Throws errc::invalid_path unless `path` is a valid path below the root, and none of its names is
// one that a lock, semaphore, election or queue gives to its own children: the node would be taken
// for a contender, a permit or an item of the path above it, and a persistent node never goes away.
// `recipe` is for the message.
void require_recipe_path(const std::string& recipe, const std::string& path);
// As well for the names of this layout, which may be the caller's own.
void require_recipe_path(const std::string& recipe, const std::string& path, const layout& names);

}  // namespace conclave::recipes
