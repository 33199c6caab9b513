// Clients for contests.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include <conclave/client.hpp>

#include "contest.hpp"

namespace conclave::bench {

// All connected. Without a context each has its own, as a program that needs one client does.
inline std::vector<std::unique_ptr<client>> open_sessions(const contest_plan& plan,
                                                          std::optional<context> shared) {
  client_options options;
  options.max_outstanding = 1u << 18;  // a thousand waiters may ask at the same moment
  std::vector<std::unique_ptr<client>> all;
  for (std::size_t i = 0; i < plan.sessions; ++i)
    all.push_back(shared ? std::make_unique<client>(*shared, plan.servers, options)
                         : std::make_unique<client>(plan.servers, options));
  for (auto& zk : all)
    if (!zk->wait_connected(std::chrono::seconds{20})) throw std::runtime_error("no connection");
  return all;
}

}  // namespace conclave::bench
