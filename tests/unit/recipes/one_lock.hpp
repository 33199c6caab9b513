// What tests of one lock share: a contest for it, somebody who holds it, and a look at the end.
#pragma once

#include <gtest/gtest.h>

#include "attempt.hpp"

namespace conclave::simulated {

class one_lock {
 protected:
  one_lock(const world_options& options, bool tickets) : c{options, tickets} {}

  attempt_pointer holder(std::size_t client = 0) {
    auto a = c.begin(client);
    EXPECT_TRUE(c.granted(a));
    return a;
  }
  void check_end() {
    c.quieten();
    c.referee().expect_no_orphans();
  }

  contest c;
};

}  // namespace conclave::simulated
