#include "client/core.hpp"

namespace conclave::client_impl {

void client_core::require_may_block(const std::string& what) const {
  if (forked()) throw error{errc::forked, what};
  if (driver->loop().is_current()) throw error{errc::would_deadlock, what};
}

void client_core::fail(error_code ec, const std::string& what, std::string why) const {
  if (ec == errc::not_connected)
    why = driver->ask(std::string{}, [](const auto& m) { return m.last_failure(); });
  throw error{ec, why.empty() ? what : what + " (" + why + ")"};
}

}  // namespace conclave::client_impl
