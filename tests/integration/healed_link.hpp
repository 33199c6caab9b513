// Helpers for tests in which a client loses its connection and reconnects.
#pragma once

#include <cstddef>
#include <string>

#include <gtest/gtest.h>

#include "integration/harness.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {

// The session outlives the test, so that leftover nodes stay visible. The proxy accepts connections
// again as soon as the client has failed to connect once.
inline client_options healed_at_once(link_proxy& proxy) {
  auto o = with_timeout(60s);
  o.reconnect = [&proxy](unsigned) {
    proxy.heal();
    return 1ms;
  };
  return o;
}

// Calls arm(n), which sets a fault after the n-th frame, and round() for n = 1, 2, ... until the
// round ends before the fault happens. A round may send fewer frames than another one, for example
// if a waiter is granted the lock before it has listed the wait queue. So such a round is repeated
// until at least `fewest` faults have happened.
template <class Arm, class Round>
void at_every_frame(link_proxy& proxy, std::size_t fewest, Arm arm, Round round) {
  std::size_t n = 1;
  for (int short_rounds = 0; n < 1000 && short_rounds < 50;) {
    proxy.reset_counters();
    arm(n);
    SCOPED_TRACE("connection lost after frame " + std::to_string(n));
    round();
    if (::testing::Test::HasFailure()) return;
    if (proxy.faults() > 0)
      ++n;
    else if (n > fewest)
      break;
    else
      ++short_rounds;
  }
  proxy.disconnect_after_client_frames(1u << 30);
  proxy.disconnect_after_server_frames(1u << 30);
  EXPECT_GT(n, fewest) << "too few faults";
  EXPECT_LT(n, 1000u) << "the round does not end";
}

}  // namespace conclave::testing
