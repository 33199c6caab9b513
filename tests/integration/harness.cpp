#include "integration/harness.hpp"

#include <atomic>

namespace conclave::testing {

zookeeper_server& shared_server() {
  static zookeeper_server server{[] {
    zookeeper_options options;
    options.tick_ms = 100;  // sessions expire in steps of a tick
    options.java_properties.push_back(
        "zookeeper.DigestAuthenticationProvider.superDigest=super:D/InIHSb7yEEbrWz8b9l71RjZJU=");
    return options;
  }()};
  return server;
}

std::string fresh_node(client& zk, const std::string& name) {
  static std::atomic<int> count{0};
  return zk.create("/" + name + "-" + std::to_string(++count)).path;
}

client_options with_timeout(std::chrono::milliseconds t) {
  client_options options;
  options.session_timeout = t;
  return options;
}

client_options reconnecting_at_once() {
  auto options = with_timeout(std::chrono::seconds{30});
  options.reconnect = [](unsigned) { return std::chrono::milliseconds{5}; };
  return options;
}

std::optional<session_event> session_recorder::wait_for(session_event::kind k,
                                                        std::chrono::nanoseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (auto event = events_.take(end - std::chrono::steady_clock::now()))
    if (event->type == k) return event;
  return std::nullopt;
}

}  // namespace conclave::testing
