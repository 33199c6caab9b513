// A lock whose node has a fixed name. The contender that has created the node holds the lock.
#pragma once

#include "recipes/wait/strategy.hpp"

namespace conclave::recipes {

class wait_by_fixed_name final : public wait_strategy {
 public:
  using wait_strategy::wait_strategy;
  std::string name_in_use() const override { return request().name; }
  task<error_code> wait_for_grant() override { co_return error_code{}; }
};

}  // namespace conclave::recipes
