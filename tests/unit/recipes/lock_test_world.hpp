// Lock objects in a simulated world. A violation fails the test.
#pragma once

#include <gtest/gtest.h>

#include "simulation/users/locker.hpp"

namespace conclave::simulated {

class lock_test_world : public lock_world {
 public:
  explicit lock_test_world(const world_options& options = {})
      : lock_world{options, [](const std::string& what) { ADD_FAILURE() << what; }} {}
};

}  // namespace conclave::simulated
