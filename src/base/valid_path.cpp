#include "base/valid_path.hpp"

#include <boost/locale/utf.hpp>

namespace conclave {
namespace {

// In Java, code points above 0xffff are two surrogates, which ZooKeeper refuses. The values for
// malformed UTF-8 are larger than all code points.
bool allowed(boost::locale::utf::code_point c) noexcept {
  return c >= 0x20 && !(c >= 0x7f && c <= 0x9f) && !(c >= 0xd800 && c <= 0xf8ff) && c < 0xfff0;
}

bool has_allowed_characters(std::string_view path) noexcept {
  const char* next = path.data();
  for (const char* const end = next + path.size(); next != end;)
    if (!allowed(boost::locale::utf::utf_traits<char>::decode(next, end))) return false;
  return true;
}

}  // namespace

bool valid_path(std::string_view path) noexcept {
  if (path == "/") return true;
  if (!path.starts_with('/') || path.ends_with('/') || !has_allowed_characters(path)) return false;
  for (auto rest = path; !rest.empty();) {
    rest.remove_prefix(1);  // the slash before each component
    const auto part = rest.substr(0, rest.find('/'));
    if (part.empty() || part == "." || part == "..") return false;
    rest.remove_prefix(part.size());
  }
  return true;
}

}  // namespace conclave
