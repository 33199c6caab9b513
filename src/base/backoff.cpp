#include <algorithm>
#include <random>

#include "conclave/client_options.hpp"

namespace conclave {

reconnect_policy exponential_backoff(std::chrono::milliseconds first,
                                     std::chrono::milliseconds most) {
  return [first, most](unsigned n) {
    // There is one generator per thread, not per policy, so that copies of a policy return
    // different delays.
    thread_local std::minstd_rand random{std::random_device{}()};
    const auto doublings = std::min(n > 0 ? n - 1 : 0u, 20u);
    const auto full =
        std::max(std::min<std::chrono::milliseconds>(first * (1L << doublings), most).count(), 0L);
    return std::chrono::milliseconds{std::uniform_int_distribution<long>{full / 2, full}(random)};
  };
}

}  // namespace conclave
