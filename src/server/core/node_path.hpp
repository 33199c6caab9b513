// Parts of node paths.
#pragma once

#include <string_view>

namespace conclave::server_impl {

// Returns the path of the parent, for example "/" for "/a". `path` must contain a slash.
std::string_view parent_path(std::string_view path);

// True for the nodes that every store has and that clients cannot remove.
bool is_system_node(std::string_view path);

}  // namespace conclave::server_impl
