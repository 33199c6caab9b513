// Adds the chroot to node paths, or removes it.
#pragma once

#include <string>
#include <string_view>

namespace conclave::session {

// Returns the path as the server knows it, with the chroot.
std::string with_chroot(std::string_view chroot, std::string_view path);

bool in_chroot(std::string_view chroot, std::string_view path) noexcept;

// Returns the path as the user knows it. Paths outside the chroot are returned unchanged.
std::string_view without_chroot(std::string_view chroot, std::string_view path) noexcept;

}  // namespace conclave::session
