// Clients for flows.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <conclave/client.hpp>
#include <conclave/queue.hpp>

#include "flow.hpp"

namespace conclave::bench {

struct session {
  session(std::unique_ptr<client> c, const flow_plan& plan)
      : zk(std::move(c)), items(*zk, plan.path, options_of(plan)) {}

  static bool claims(const flow_plan& plan) {
    return plan.mode == mode::claiming || plan.mode == mode::claiming_asynchronously;
  }
  static queue_options options_of(const flow_plan& plan) {
    queue_options options;
    if (claims(plan)) options.layout = queue_layout::kazoo_locking;
    return options;
  }

  std::unique_ptr<client> zk;
  queue items;
};

using sessions = std::vector<std::unique_ptr<session>>;

// All connected. Without a context each has its own, as a program that needs one client does.
inline sessions open_sessions(std::size_t count, const flow_plan& plan,
                              std::optional<context> shared) {
  sessions all;
  for (std::size_t i = 0; i < count; ++i)
    all.push_back(std::make_unique<session>(shared ? std::make_unique<client>(*shared, plan.servers)
                                                   : std::make_unique<client>(plan.servers),
                                            plan));
  for (auto& one : all)
    if (!one->zk->wait_connected(std::chrono::seconds{20}))
      throw std::runtime_error("no connection");
  return all;
}

}  // namespace conclave::bench
