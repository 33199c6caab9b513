// Chooses the next server to try, and the delay before the attempt.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "conclave/client_options.hpp"
#include "conclave/connect_string.hpp"

namespace conclave::session {

class host_rotation {
 public:
  // shuffle_seed 0 keeps the order of the list.
  host_rotation(std::vector<endpoint> hosts, reconnect_policy policy, std::uint64_t shuffle_seed);

  struct attempt {
    endpoint host;
    std::chrono::milliseconds delay;  // zero until every server was tried once
  };
  attempt next();

  // Must be called when a session was established. After the next lost connection, the first round
  // of attempts again has no delay.
  void succeeded() noexcept { tried_ = 0; }

  std::size_t size() const noexcept { return hosts_.size(); }

 private:
  std::vector<endpoint> hosts_;
  reconnect_policy policy_;
  std::size_t position_ = 0;
  std::size_t tried_ = 0;  // attempts since the last success
};

}  // namespace conclave::session
