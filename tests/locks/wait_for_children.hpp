// Waits for contenders without sleeping.
#pragma once

#include "integration/harness.hpp"

namespace conclave::testing {

// Waits until a node has n children.
inline void wait_for_children(client& zk, const std::string& path, std::size_t n) {
  for (;;) {
    watch_recorder changed;
    const bool there = zk.exists(path, changed.get()).has_value();
    if (there && zk.children(path, changed.get()).names.size() == n) return;
    if (!there && n == 0) return;
    ASSERT_TRUE(changed.take()) << path << " has not come to " << n << " children";
  }
}

}  // namespace conclave::testing
