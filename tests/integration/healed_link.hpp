// For tests that cut a client's link and want to see what becomes of it on the next one.
#pragma once

#include "integration/harness.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {

// A session that outlives the test, so that what it leaves behind stays to be seen; and a link that
// is healed when the client finds nobody there, which is as long as an outage has to last.
inline client_options healed_at_once(link_proxy& proxy) {
  auto o = with_timeout(60s);
  o.reconnect = [&proxy](unsigned) {
    proxy.heal();
    return 1ms;
  };
  return o;
}

}  // namespace conclave::testing
