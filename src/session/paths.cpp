#include "session/paths.hpp"

namespace conclave::session {
std::string with_chroot(std::string_view chroot, std::string_view path) {
  if (chroot.empty()) return std::string{path};
  std::string full{chroot};
  if (path != "/") full += path;
  return full;
}

bool in_chroot(std::string_view chroot, std::string_view path) noexcept {
  return path.starts_with(chroot) &&
         (path.size() == chroot.size() || chroot.empty() || path[chroot.size()] == '/');
}

std::string_view without_chroot(std::string_view chroot, std::string_view path) noexcept {
  if (chroot.empty() || !in_chroot(chroot, path)) return path;
  return path.size() == chroot.size() ? "/" : path.substr(chroot.size());
}

}  // namespace conclave::session
