// Three Apache ZooKeeper servers on this machine that form one ensemble.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <conclave/client.hpp>

#include "driver/process.hpp"
#include "lock_rounds.hpp"
#include "support/zookeeper_ensemble.hpp"

namespace conclave::bench {

// The constructor starts the servers, and the destructor stops them.
class measured_ensemble {
 public:
  // If a core is given, pins the servers to it.
  measured_ensemble(bool force_sync, std::optional<int> cpu);
  measured_ensemble(const measured_ensemble&) = delete;
  measured_ensemble& operator=(const measured_ensemble&) = delete;

  std::size_t size() const { return servers_.size(); }
  // Each contender connects to any of the servers.
  round_servers all();
  // All contenders connect to one of the servers.
  round_servers only(std::size_t number);

 private:
  round_servers with(const std::string& connect_string);

  testing::zookeeper_ensemble servers_;
  std::vector<std::unique_ptr<pinned_process>> pins_;
  client control_;
};

}  // namespace conclave::bench
