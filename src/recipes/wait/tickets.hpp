// A wait queue with tickets (docs/locks.md). The ticket of a contender is the sequence number of
// its node. The parent record says which ticket was served last. A contender is granted the lock
// without a listing if the parent record shows that all tickets before its own were served. If the
// parent record is not conclusive, the waiter lists the wait queue.
//
// Mutexes and writers use tickets, but not near the end of the sequence numbers. Readers do not.
#pragma once

#include <optional>

#include "conclave/node.hpp"
#include "recipes/wait/listing.hpp"

namespace conclave::recipes {

class wait_by_tickets final : public wait_by_listing {
 public:
  using wait_by_listing::wait_by_listing;

  void send_with_creation() override;
  task<> receive_after_creation(bool created) override;
  task<error_code> wait_for_grant() override;
  std::optional<std::string> record_on_release() const override;
  std::optional<handover> hand_over() const override;
  void take_over(const handover& from, std::int64_t parent_czxid) override;

 private:
  using outcome = deletion_result::outcome;

  task<deletion_result> learn_from_deletion(const blocker& b) override;
  task<deletion_result> wait_for_previous_ticket();
  task<deletion_result> read_whether_served_below(std::int32_t ticket);
  task<error_code> read_record();
  void note_record(const get_result& parent);
  bool usable() const noexcept;
  // Returns true if the parent record proves that all tickets below this one have left the wait
  // queue.
  bool all_served_below(std::int32_t ticket) const noexcept;

  std::optional<pending_reply<get_result>> reading_;  // sent together with the creation
  std::int64_t parent_czxid_ = 0;
  std::optional<std::int32_t> served_;  // the last ticket known to be served
  bool record_is_ours_ = false;         // the parent has no other data, so Conclave may write it
  bool only_child_ = false;             // the parent had no other child after the creation
};

}  // namespace conclave::recipes
