// A base for tests of one lock: its world, a function that acquires it, and the final check.
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
    c.finish_pending_work();
    c.checker().expect_no_orphans();
  }

  contender_world c;
};

}  // namespace conclave::simulated
