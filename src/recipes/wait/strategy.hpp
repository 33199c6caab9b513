// How a contender waits for the grant once its node is created. Each node has its own strategy.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "recipes/owned_nodes.hpp"

namespace conclave::recipes {

class wait_strategy {
 public:
  // Findings that the caller can read after the wait.
  struct findings {
    std::string holder;    // the path of the holder's node, if the contender gave up
    std::string mismatch;  // explains errc::layout_mismatch and errc::permits_mismatch
  };

  wait_strategy(contender_context& c, owned_nodes& n, std::size_t index, findings& f)
      : context{c}, nodes{n}, index_{index}, found{f} {}
  wait_strategy(const wait_strategy&) = delete;
  wait_strategy& operator=(const wait_strategy&) = delete;
  virtual ~wait_strategy() = default;

  // send_with_creation() sends reads in the same write as the creation. receive_after_creation()
  // awaits their replies.
  virtual void send_with_creation() {}
  virtual task<> receive_after_creation(bool created) {
    static_cast<void>(created);
    co_return done;
  }
  // Called after a creation has failed with errc::node_exists. Returns the name of the existing
  // node.
  virtual std::string name_in_use() const = 0;
  // Returns without an error when this node no longer has to wait. The contender is granted the
  // lock when none of its nodes has to wait.
  virtual task<error_code> wait_for_grant() = 0;
  // Returns true if wait_for_grant() had to wait. During that wait, the contender's other nodes may
  // have been deleted.
  virtual bool has_waited() const noexcept { return false; }

  // Returns the parent record that the release writes in the transaction that deletes the node.
  virtual std::optional<std::string> record_on_release() const { return std::nullopt; }

  // Returned by hand_over() if the release can be part of the transaction that creates the next
  // node (decision 0007).
  struct handover {
    std::int64_t parent_czxid = 0;
    std::int32_t number = 0;
  };
  virtual std::optional<handover> hand_over() const { return std::nullopt; }
  // Called if the transaction that created this node has released the predecessor.
  virtual void take_over(const handover& from, std::int64_t parent_czxid) {
    static_cast<void>(from);
    static_cast<void>(parent_czxid);
  }

 protected:
  owned_node& own() const { return nodes[index_]; }
  const lock_request& request() const noexcept { return context.request(); }
  // Call if a reply of the server shows that our node was deleted. A different node may have its
  // name by now. So before the release deletes a node by name, it verifies that node.
  errc own_was_deleted() const {
    own().watch.mark_deleted();
    return errc::waiter_node_deleted;
  }

  contender_context& context;
  owned_nodes& nodes;

 private:
  std::size_t index_;

 protected:
  findings& found;
};

std::unique_ptr<wait_strategy> make_wait_strategy(contender_context& c, owned_nodes& nodes,
                                                  std::size_t index, wait_strategy::findings& f);

}  // namespace conclave::recipes
