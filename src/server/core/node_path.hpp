// What a node may be called.
#pragma once

#include <string_view>

namespace conclave::server_impl {

// As ZooKeeper has it: begins with a slash and does not end with one, has no empty, "." or ".."
// parts, and no control or private characters nor any above U+FFFF; what is not UTF-8 is invalid.
bool valid_node_path(std::string_view path);

// "/" for "/a". There is a slash in it.
std::string_view parent_path(std::string_view path);

// Nodes that are there from the beginning and cannot be removed.
bool is_system_node(std::string_view path);

}  // namespace conclave::server_impl
