// Every connect string is either refused with a reason or gives valid hosts and a valid chroot.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/valid_path.hpp"
#include "conclave/connect_string.hpp"
#include "conclave/error.hpp"
#include "require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace conclave;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  connect_string parsed;
  try {
    parsed = connect_string::parse(text);
  } catch (const error& e) {
    REQUIRE(e.code() == errc::bad_connect_string);
    return 0;
  }
  REQUIRE(!parsed.hosts.empty());
  REQUIRE(parsed.chroot.empty() || valid_path(parsed.chroot));
  REQUIRE(parsed.chroot != "/");
  std::string written;
  for (const auto& e : parsed.hosts) {
    const auto& path = e.socket_path;
    REQUIRE(path.empty() ? !e.host.empty() && e.port != 0
                         : e.host.empty() && path.front() == '/' && path.size() < 108 &&
                               path.find('\0') == std::string::npos);
    written += (written.empty() ? "" : ",") + to_string(e);
  }
  // The printed form must parse to the same result.
  if (!parsed.hosts.back().socket_path.empty() && !parsed.chroot.empty()) written += ':';
  const auto again = connect_string::parse(written + parsed.chroot);
  REQUIRE(again.hosts == parsed.hosts);
  REQUIRE(again.chroot == parsed.chroot);
  return 0;
}
