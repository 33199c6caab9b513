// The nodes above a node.
#pragma once

#include <string>

#include "conclave/client.hpp"

namespace conclave::cli {

// Makes those that are missing, to stay.
void make_parents(client& zk, const std::string& path);

}  // namespace conclave::cli
