// Finds the blocker by listing the wait queue. The lock is granted to a contender that no other
// contender blocks. Every waiter watches only one other node.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recipes/wait/deletion.hpp"
#include "recipes/wait/strategy.hpp"

namespace conclave::recipes {

class wait_by_listing : public wait_strategy {
 public:
  using wait_strategy::wait_strategy;
  // Returns the name with the last sequence number. A server that stops at this number assigns it
  // again after the node with this number was deleted.
  std::string name_in_use() const override;
  task<error_code> wait_for_grant() override;
  bool has_waited() const noexcept final { return has_waited_; }

 protected:
  // What the deletion of the awaited node means for us.
  enum class deletion {
    grants,          // the node was the first in the wait queue, and no other node replaces it
    leaves_a_gap,    // no other node replaces it, and no contender is between its number and ours
    proves_nothing,  // a reader's node may replace it
  };
  struct blocker {
    awaited_node node;
    std::int32_t number = 0;
    deletion meaning = deletion::proves_nothing;
  };

  // Lists the wait queue and waits for the blocker, until no contender blocks this one.
  task<error_code> list_and_wait();
  // Sets `granted` if the deletion of this blocker is known to grant the lock without a listing.
  virtual task<error_code> learn_from_deletion(const blocker& b, bool& granted);
  task<error_code> wait_for(blocker& b);

  // Returns true if this node may belong to a writer. A writer's node is also deleted when the
  // writer becomes a reader. The reader keeps the number and still blocks the writers behind it. In
  // layouts that use the same names for mutexes and writers, a node with such a name may belong to
  // a writer.
  static bool may_become_reader(layout::role r, std::string_view name);

 private:
  struct contender_entry {
    std::string name;
    layout::role role;
    std::int32_t number;
    std::int64_t czxid = 0;  // read only if the numbers do not order the contenders
  };
  struct listing {
    error_code ec;
    std::vector<contender_entry> ahead;  // in the order of the wait queue
    std::optional<std::size_t> blocker;  // the last entry of `ahead` that blocks this contender
  };
  task<listing> list();
  task<error_code> expect_no_permits();
  task<error_code> read_ages(std::vector<contender_entry>& all);
  bool takes_part(const layout::contender& c) const;

  bool has_waited_ = false;
};

}  // namespace conclave::recipes
