// Assigns the nodes of a tree to recipes by their names. The data of the nodes is not needed for
// this. It is read afterwards, in one pass.
#pragma once

#include <vector>

#include "client/inspect/tree.hpp"
#include "client/inspect/wait_queue.hpp"

namespace conclave::client_impl {

struct found_recipe {
  // The condition under which a contender becomes a holder.
  enum class rule {
    first_in_wait_queue,  // a lock or an election
    permits,              // a semaphore of Conclave or Curator, see mark_permit_holders()
    node_created,         // a named mutex, a semaphore of kazoo or a claim
  };

  recipe_info info;
  rule granted_when = rule::first_in_wait_queue;
  // Not used with first_in_wait_queue. With permits, these are the leases.
  std::vector<listed_contender> holders;
  // For locks and elections, this includes the holders, because the order shows who holds the lock.
  std::vector<listed_contender> wait_queue;
  bool needs_path_data = false;  // the data of the path must be read, too
  bool kind_is_certain = true;   // the names of the nodes prove the kind
};

std::vector<found_recipe> find_recipes(const node_tree& tree, const known_layouts& layouts,
                                       bool include_unused);

// Sorts the contenders, and determines which of them hold the lock. The nodes of the contenders
// must have been read. Does not set contender_info::granted.
void find_holders(found_recipe& f);
// Call find_holders() before. Returns the holders first, then the waiters.
recipe_info to_recipe_info(found_recipe f);

}  // namespace conclave::client_impl
