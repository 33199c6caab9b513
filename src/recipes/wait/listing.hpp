// Lists the wait queue to find the contender that blocks this one (the blocker). The lock is
// granted to a contender that no other contender blocks. Every waiter watches only one other node.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recipes/shared_listing.hpp"
#include "recipes/wait/deletion.hpp"
#include "recipes/wait/strategy.hpp"

namespace conclave::recipes {

class wait_by_listing : public wait_strategy {
 public:
  using wait_strategy::wait_strategy;
  // Returns the name with the last sequence number. Some servers do not count beyond it: they
  // assign it again, and the creation fails while a node with this name exists.
  std::string name_in_use() const override;
  task<error_code> wait_for_grant() override;
  bool has_waited() const noexcept final { return has_waited_; }

 protected:
  // What the deletion of the awaited node means for us.
  enum class deletion {
    grants,  // no contender that blocks us was ahead of the node, and no node replaces it
    // No node replaces it, and no contender has a sequence number between the node's and ours.
    leaves_a_gap,
    proves_nothing,  // a reader's node may replace it
  };
  struct blocker {
    awaited_node node;
    std::int32_t number = 0;
    deletion meaning = deletion::proves_nothing;
  };

  // Lists the wait queue and waits until the blocker's node is deleted. Repeats both steps until
  // there is no blocker. If the request does not wait, fails with errc::lock_busy instead of
  // waiting.
  task<error_code> list_and_wait();
  // What the contender knows after the deletion of an awaited node.
  struct deletion_result {
    enum class outcome { granted, must_list, failed } what;
    error_code ec;  // for failed
  };
  // Called after the blocker's node was deleted. Returns `granted` if this deletion is known to
  // grant the lock, so that no listing is needed.
  virtual task<deletion_result> learn_from_deletion(const blocker& b);
  task<error_code> wait_for(blocker& b);

  // Returns true if this node may belong to a writer. A writer's node is also deleted when the
  // writer becomes a reader. The reader keeps the sequence number and still blocks the writers
  // behind it. In layouts that use the same prefix for mutexes and writers, a node with this prefix
  // may belong to a writer.
  static bool may_become_reader(layout::role r, std::string_view name);

 private:
  // The contender's position in the wait queue.
  struct position {
    error_code ec;
    std::size_t index = 0;  // the number of contenders ahead
    std::string first;      // the name of the first contender
    std::optional<wait_by_listing::blocker> blocker;
  };
  task<position> find_position();
  shared_listings::key listing_key() const;
  task<> list(shared_listing& into);
  task<error_code> expect_no_permits(std::string& mismatch);
  task<error_code> read_czxids(std::vector<queued_contender>& all);
  blocker make_blocker(const wait_queue& all, std::size_t index) const;

  bool has_waited_ = false;
};

}  // namespace conclave::recipes
