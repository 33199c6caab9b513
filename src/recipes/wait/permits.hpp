// Waits for a permit of a semaphore. The permit is granted when the number of leases is at most the
// number of permits.
#pragma once

#include <string_view>
#include <vector>

#include "recipes/semaphore_names.hpp"
#include "recipes/wait/strategy.hpp"

namespace conclave::recipes {

// The gate of a semaphore is a lock that contenders pass one by one. So only one contender at a
// time watches the leases and lists them after each change.
class wait_for_permit final : public wait_strategy {
 public:
  using wait_strategy::wait_strategy;
  std::string name_in_use() const override;
  task<error_code> wait_for_grant() override;

 private:
  task<error_code> agree_on_number(std::vector<std::string>& leases);
  task<error_code> find_lock_without_permits(const std::vector<std::string>& children);
};

}  // namespace conclave::recipes
