// Waits for a permit of a semaphore. A contender creates its node below `PATH/leases`. It is
// granted the permit when the number of these nodes is at most the number of permits.
#pragma once

#include <string_view>
#include <vector>

#include "recipes/semaphore_names.hpp"
#include "recipes/wait/strategy.hpp"

namespace conclave::recipes {

// The admission lock of a semaphore is an exclusive lock. A contender creates its node only while
// it holds the admission lock. So only one contender at a time watches `PATH/leases` and lists it
// after each change.
class wait_for_permit final : public wait_strategy {
 public:
  using wait_strategy::wait_strategy;
  std::string name_in_use() const override;
  task<error_code> wait_for_grant() override;

 private:
  // The nodes below `PATH/leases`. To be granted a permit at once, a contender only needs the
  // number of these nodes, so it does not list them.
  struct leases {
    std::size_t count = 0;
    bool own_exists = false;
  };
  task<error_code> agree_on_number(leases& found_leases);
  task<error_code> find_lock_without_permits(const std::vector<std::string>& children);
};

}  // namespace conclave::recipes
