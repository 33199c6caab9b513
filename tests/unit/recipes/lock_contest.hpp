// Lock objects in a simulated world, where a complaint fails the test.
#pragma once

#include <gtest/gtest.h>

#include "simulation/users/locker.hpp"

namespace conclave::simulated {

class lock_contest : public lock_world {
 public:
  explicit lock_contest(const world_options& options = {})
      : lock_world{options, [](const std::string& what) { ADD_FAILURE() << what; }} {}
};

}  // namespace conclave::simulated
