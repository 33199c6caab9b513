#include "cli/connect/tls_hint.hpp"

#include "cli/doctor/raw_connection.hpp"
#include "conclave/connect_string.hpp"

namespace conclave::cli {

using namespace std::chrono_literals;

std::string tls_hint(const server_address& at) {
  const auto until = std::chrono::steady_clock::now() + 1s;
  for (const auto& host : connect_string::parse(at.hosts).hosts) {
    if (!host.socket_path.empty()) continue;
    trouble ignored;
    for (const auto& address : resolve(host, ignored)) {
      auto c = raw_connection::to(address, until, ignored);
      if (!c) continue;
      if (!at.options.tls && c->speaks_tls(until))
        return to_string(host) + " uses TLS; add --tls or --tls-ca FILE";
      if (at.options.tls && !c->ask("srvr", until).empty())
        return to_string(host) +
               " does not use TLS on this port; connect to its TLS port, or without TLS";
    }
  }
  return {};
}

}  // namespace conclave::cli
