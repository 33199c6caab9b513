// Clients for workloads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <conclave/client.hpp>

namespace conclave::bench {

// As long as the identities that a lock keeps in its nodes.
inline constexpr const char* lock_token = "0c8e6a5e-6ad3-4a2f-9d11-6f1c2b7d9e40";

// Throws std::runtime_error if there is no connection in time.
void await_connection(client& zk);

// Calls `begin` on the context's thread, where all that follows from it happens then.
template <class Begin>
void begin_on_context(client& zk, Begin begin) {
  zk.async_exists("/", [begin](error_code, const auto&) { begin(); });
}

// All connected, on one context.
std::vector<std::unique_ptr<client>> open_sessions(context& shared, const std::string& servers,
                                                   std::size_t count);

}  // namespace conclave::bench
