// A fixture for tests of shared locks.
#pragma once

#include <ostream>
#include <string>

#include "contender_process.hpp"
#include "integration/harness.hpp"

namespace conclave::testing {

class lock_interop_test : public ::testing::Test {
 protected:
  // Waits until there are n contenders.
  void wait_for_contenders(const std::string& line, std::size_t n) {
    const auto end = std::chrono::steady_clock::now() + wait_limit;
    for (;;) {
      watch_recorder changed;
      const auto now = zk.children(line, changed.get()).names.size();
      if (now == n) return;
      ASSERT_TRUE(changed.take(end - std::chrono::steady_clock::now()))
          << now << " contenders at " << line << ", " << n << " wanted";
    }
  }

  client zk{shared_server().connect_string()};
};

inline void PrintTo(library l, std::ostream* out) { *out << name_of(l); }

// Runs each test with each library.
class with_a_peer : public lock_interop_test, public ::testing::WithParamInterface<library> {};

inline std::string name_of_param(const ::testing::TestParamInfo<library>& i) {
  return name_of(i.param);
}

}  // namespace conclave::testing
