// Apache ZooKeeper as the server of a benchmark, and sessions of this library.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <conclave/client.hpp>

#include "support/zookeeper_server.hpp"

namespace conclave::bench {

// Uses an ordinary JVM, and takes no snapshot during a round.
testing::zookeeper_options measured_server_options(bool force_sync);

// "Apache ZooKeeper 3.8.0, Java 17.0.1"
std::string version_of(const testing::zookeeper_server& server);

// Throws std::runtime_error if the client does not connect in time.
void await_connection(client& zk);

// Returns connected clients. Without a context, each client has its own, as in a program with one
// client.
std::vector<std::unique_ptr<client>> open_sessions(std::size_t count, const std::string& servers,
                                                   std::optional<context> shared,
                                                   const client_options& options = {});

// Calls the function on the context's thread, where the handlers run.
template <class Function>
void run_on_context(client& zk, Function f) {
  zk.async_exists("/", [f](error_code, const auto&) { f(); });
}

}  // namespace conclave::bench
