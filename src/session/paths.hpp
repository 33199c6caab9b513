// Node paths: what is allowed, and the chroot in front of them.
#pragma once

#include <string>
#include <string_view>

namespace conclave::session {

// ZooKeeper's rules: absolute, no empty, "." or ".." parts, no slash at the end (but for the root),
// valid UTF-8 without control characters and the code points the server refuses.
bool valid_path(std::string_view path) noexcept;

// The path as the server knows it.
std::string with_chroot(std::string_view chroot, std::string_view path);

bool in_chroot(std::string_view chroot, std::string_view path) noexcept;

// The path as the user knows it; paths outside the chroot are left as they are.
std::string_view without_chroot(std::string_view chroot, std::string_view path) noexcept;

}  // namespace conclave::session
