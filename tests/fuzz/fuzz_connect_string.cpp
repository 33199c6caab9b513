// Whatever a user writes is refused with a reason, or gives hosts and a chroot that can be used.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "conclave/connect_string.hpp"
#include "conclave/error.hpp"
#include "require.hpp"
#include "session/paths.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace conclave;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  try {
    const auto parsed = connect_string::parse(text);
    REQUIRE(!parsed.hosts.empty());
    REQUIRE(parsed.chroot.empty() || session::valid_path(parsed.chroot));
    REQUIRE(parsed.chroot != "/");
    std::string written;
    for (const auto& e : parsed.hosts) {
      REQUIRE(!e.host.empty() && e.port != 0);
      written += (written.empty() ? "" : ",") + to_string(e);
    }
    const auto again = connect_string::parse(written + parsed.chroot);
    REQUIRE(again.hosts == parsed.hosts);
    REQUIRE(again.chroot == parsed.chroot);
  } catch (const error& e) {
    REQUIRE(e.code() == errc::bad_connect_string);
  }
  return 0;
}
