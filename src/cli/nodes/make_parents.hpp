// Creation of parent nodes.
#pragma once

#include <string>

#include "conclave/client.hpp"

namespace conclave::cli {

// Creates the missing parents of `path` as persistent nodes.
void make_parents(client& zk, const std::string& path);

}  // namespace conclave::cli
