// How a contender whose node was created waits until the lock is granted. One for each node.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "recipes/owned_nodes.hpp"

namespace conclave::recipes {

class wait_strategy {
 public:
  // What a contender has learned that its caller may ask for.
  struct findings {
    std::string holder;    // the path of the node that has the lock, if the contender gave up
    std::string mismatch;  // how others use the path, if it failed for that, for people
  };

  wait_strategy(contender_context& c, owned_nodes& n, std::size_t index, findings& f)
      : context{c}, nodes{n}, index_{index}, found{f} {}
  wait_strategy(const wait_strategy&) = delete;
  wait_strategy& operator=(const wait_strategy&) = delete;
  virtual ~wait_strategy() = default;

  // Sends reads in the same write as the creation of the node, and takes their replies.
  virtual void send_with_creation() {}
  virtual task<> receive_after_creation(bool created) {
    static_cast<void>(created);
    co_return done;
  }
  // The creation failed since a node of the same name exists: its name.
  virtual std::string name_in_use() const = 0;
  // No error: the lock is granted, as far as this node is concerned.
  virtual task<error_code> wait_for_grant() = 0;
  // It has waited: something may have happened to the contender's other nodes meanwhile.
  virtual bool has_waited() const noexcept { return false; }

  // What the release of a holder writes to the parent, in one transaction.
  virtual std::optional<std::string> record_on_release() const { return std::nullopt; }

  // Where the release can be part of the transaction that creates the next node (0007).
  struct handover {
    std::int64_t parent_czxid = 0;
    std::int32_t number = 0;
  };
  virtual std::optional<handover> hand_over() const { return std::nullopt; }
  // The predecessor was released by the transaction that created this node.
  virtual void take_over(const handover& from, std::int64_t parent_czxid) {
    static_cast<void>(from);
    static_cast<void>(parent_czxid);
  }

 protected:
  owned_node& own() const { return nodes[index_]; }
  const lock_request& request() const noexcept { return context.request; }

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
