// Validates node paths, for clients and for the server.
#pragma once

#include <string_view>

namespace conclave {

// ZooKeeper's rules: a path is absolute, has no empty, "." or ".." component, and has no trailing
// slash (except "/"). It is valid UTF-8 and contains no control characters, no private-use
// characters and no characters above U+FFEF.
bool valid_path(std::string_view path) noexcept;

}  // namespace conclave
