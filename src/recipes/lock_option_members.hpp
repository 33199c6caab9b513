// The members of lock_options as a tuple, for code that must treat all of them.
#pragma once

#include <tuple>

#include "conclave/lock_options.hpp"

namespace conclave::recipes {

// Returns references to all members. Does not compile if a member is missing here.
template <class Options>
auto members_of(Options& o) {
  auto& [layout, owner, on_enqueued, on_acquired, on_released, on_suspended, on_restored, on_lost,
         on_revocation, keep_for, local_handoffs, held_while_waiting, tickets] = o;
  return std::tie(layout, owner, on_enqueued, on_acquired, on_released, on_suspended, on_restored,
                  on_lost, on_revocation, keep_for, local_handoffs, held_while_waiting, tickets);
}

}  // namespace conclave::recipes
