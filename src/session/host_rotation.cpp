#include "session/host_rotation.hpp"

#include <algorithm>
#include <random>
#include <utility>

namespace conclave::session {

host_rotation::host_rotation(std::vector<endpoint> hosts, reconnect_policy policy,
                             std::uint64_t shuffle_seed)
    : hosts_{std::move(hosts)}, policy_{std::move(policy)} {
  if (shuffle_seed != 0) std::shuffle(hosts_.begin(), hosts_.end(), std::mt19937_64{shuffle_seed});
}

host_rotation::attempt host_rotation::next() {
  attempt a{hosts_[position_], std::chrono::milliseconds{0}};
  // Every round except the first starts with a delay. Within a round, the other servers may be up.
  const auto round = tried_ / hosts_.size();
  if (round > 0 && tried_ % hosts_.size() == 0)
    a.delay = std::max(policy_(static_cast<unsigned>(round)), std::chrono::milliseconds{0});
  position_ = (position_ + 1) % hosts_.size();
  ++tried_;
  return a;
}

}  // namespace conclave::session
