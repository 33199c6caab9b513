#include "recipes/wait/strategy.hpp"

#include "recipes/wait/fixed_name.hpp"
#include "recipes/wait/listing.hpp"
#include "recipes/wait/permits.hpp"
#include "recipes/wait/tickets.hpp"

namespace conclave::recipes {

std::unique_ptr<wait_strategy> make_wait_strategy(contender_context& c, owned_nodes& nodes,
                                                  std::size_t index, wait_strategy::findings& f) {
  const auto& r = c.request();
  switch (r.granted_when) {
    case lock_request::rule::fixed_name:
      return std::make_unique<wait_by_fixed_name>(c, nodes, index, f);
    case lock_request::rule::permits: return std::make_unique<wait_for_permit>(c, nodes, index, f);
    case lock_request::rule::first_in_wait_queue: break;
  }
  // A reader may hold the lock together with readers ahead of it, so its ticket proves nothing.
  if (r.mode == lock_request::wait_mode::listing || r.role == layout::role::reader)
    return std::make_unique<wait_by_listing>(c, nodes, index, f);
  return std::make_unique<wait_by_tickets>(c, nodes, index, f);
}

}  // namespace conclave::recipes
