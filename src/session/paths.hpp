// Validates node paths, and adds or removes the chroot.
#pragma once

#include <string>
#include <string_view>

namespace conclave::session {

// ZooKeeper's rules: a path is absolute, has no empty, "." or ".." component, and has no trailing
// slash (except "/"). It is valid UTF-8 and contains no control characters or other characters that
// the server refuses.
bool valid_path(std::string_view path) noexcept;

// Returns the path as the server knows it, with the chroot.
std::string with_chroot(std::string_view chroot, std::string_view path);

bool in_chroot(std::string_view chroot, std::string_view path) noexcept;

// Returns the path as the user knows it. Paths outside the chroot are returned unchanged.
std::string_view without_chroot(std::string_view chroot, std::string_view path) noexcept;

}  // namespace conclave::session
