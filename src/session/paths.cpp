#include "session/paths.hpp"

#include <cstdint>

namespace conclave::session {
namespace {

// Removes the first UTF-8 code point and returns it. If the code point is malformed, returns 0,
// which no path may contain.
std::uint32_t take_code_point(std::string_view& s) noexcept {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(s[i]));
  };
  const auto first = byte(0);
  const std::size_t length = first < 0x80         ? 1
                             : first >> 5 == 0x6  ? 2
                             : first >> 4 == 0xe  ? 3
                             : first >> 3 == 0x1e ? 4
                                                  : 0;
  if (length == 0 || length > s.size()) return 0;
  std::uint32_t c = length == 1 ? first : first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 0x2) return 0;
    c = c << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (c < smallest[length] || c > 0x10ffff) return 0;
  s.remove_prefix(length);
  return c;
}

// In Java, code points above 0xffff are two surrogates, which ZooKeeper refuses.
bool allowed(std::uint32_t c) noexcept {
  return c >= 0x20 && !(c >= 0x7f && c <= 0x9f) && !(c >= 0xd800 && c <= 0xf8ff) && c < 0xfff0;
}

}  // namespace

bool valid_path(std::string_view path) noexcept {
  if (path == "/") return true;
  if (!path.starts_with('/') || path.ends_with('/')) return false;
  for (auto rest = path; !rest.empty();)
    if (!allowed(take_code_point(rest))) return false;
  for (auto rest = path; !rest.empty();) {
    rest.remove_prefix(1);  // the slash before each component
    const auto part = rest.substr(0, rest.find('/'));
    if (part.empty() || part == "." || part == "..") return false;
    rest.remove_prefix(part.size());
  }
  return true;
}

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
