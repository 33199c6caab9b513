#include "server/core/node_path.hpp"

#include <algorithm>

namespace conclave::server_impl {
namespace {

// U+0000-001F and U+007F-009F; U+D800-F8FF (surrogates and private use); U+FFF0-FFFF, because Java
// decodes invalid UTF-8 to U+FFFD; all above U+FFFF, because Java encodes them as surrogates.
bool has_forbidden_characters(std::string_view s) {
  for (std::size_t i = 0; i < s.size();) {
    const auto byte = [&](std::size_t k) {
      return i + k < s.size() ? static_cast<unsigned char>(s[i + k]) : 0u;
    };
    const auto follows = [&](std::size_t k) { return byte(k) >= 0x80 && byte(k) <= 0xbf; };
    const unsigned b = byte(0);
    if (b < 0x80) {
      if (b <= 0x1f || b == 0x7f) return true;
      i += 1;
    } else if (b < 0xe0) {
      if (b < 0xc2 || !follows(1)) return true;
      if (b == 0xc2 && byte(1) <= 0x9f) return true;
      i += 2;
    } else if (b < 0xf0) {
      if (!follows(1) || !follows(2) || (b == 0xe0 && byte(1) < 0xa0)) return true;
      if ((b == 0xed && byte(1) >= 0xa0) || b == 0xee) return true;
      if (b == 0xef && (byte(1) <= 0xa3 || (byte(1) == 0xbf && byte(2) >= 0xb0))) return true;
      i += 3;
    } else {
      return true;
    }
  }
  return false;
}

}  // namespace

bool valid_node_path(std::string_view path) {
  if (path == "/") return true;
  if (path.empty() || path.front() != '/' || path.back() == '/') return false;
  if (has_forbidden_characters(path)) return false;
  for (std::size_t begin = 1; begin <= path.size();) {
    const auto end = std::min(path.find('/', begin), path.size());
    const auto part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

std::string_view parent_path(std::string_view path) {
  const auto slash = path.rfind('/');
  return path.substr(0, slash == 0 ? 1 : slash);
}

bool is_system_node(std::string_view path) {
  return path == "/" || path == "/zookeeper" || path == "/zookeeper/quota" ||
         path == "/zookeeper/config";
}

}  // namespace conclave::server_impl
