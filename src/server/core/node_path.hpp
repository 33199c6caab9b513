// Validation and parts of node paths.
#pragma once

#include <string_view>

namespace conclave::server_impl {

// Applies the rules of ZooKeeper. A path begins with a slash and does not end with one. It has no
// empty, "." or ".." parts. It is valid UTF-8 without control characters, private-use characters
// and characters above U+FFFF.
bool valid_node_path(std::string_view path);

// Returns the path of the parent, for example "/" for "/a". `path` must contain a slash.
std::string_view parent_path(std::string_view path);

// True for the nodes that every store has and that clients cannot remove.
bool is_system_node(std::string_view path);

}  // namespace conclave::server_impl
