// Makes nodes and those above them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "recipes/port.hpp"
#include "recipes/task.hpp"

namespace conclave::recipes {

// Of this kind; containers become persistent nodes on a server that has none. No error if they are
// there, nor if that cannot be told: whoever wants to create something below will see. Several are
// made in one round trip.
task<error_code> make_paths(std::shared_ptr<port> p, std::shared_ptr<void> asker,
                            std::vector<std::string> paths, create_mode mode);
task<error_code> make_path(std::shared_ptr<port> p, std::shared_ptr<void> asker, std::string path,
                           create_mode mode);

}  // namespace conclave::recipes
