// The parts of a valid path are valid, and removing a chroot reverses adding it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/valid_path.hpp"
#include "require.hpp"
#include "session/paths.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace conclave;
  using namespace conclave::session;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto half = size / 2;
  const auto chroot = text.substr(0, half);
  const auto path = text.substr(half);

  const auto outside = without_chroot(chroot, path);  // a server may send any path in an event
  REQUIRE(outside.size() <= path.size() || outside == "/");

  if (valid_path(path)) {
    REQUIRE(path.starts_with('/'));
    REQUIRE(path == "/" || !path.ends_with('/'));
    REQUIRE(path.find("//") == std::string_view::npos);
    REQUIRE(path.find('\0') == std::string_view::npos);
    if (const auto parent = path.substr(0, path.rfind('/')); !parent.empty())
      REQUIRE(valid_path(parent));
    if (valid_path(chroot) && chroot != "/") {
      const auto full = with_chroot(chroot, path);
      REQUIRE(valid_path(full));
      REQUIRE(without_chroot(chroot, full) == path);
    }
  }
  return 0;
}
