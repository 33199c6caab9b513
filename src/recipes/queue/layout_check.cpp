#include "recipes/queue/layout_check.hpp"

#include <utility>

namespace conclave::recipes {

task<error_code> check_layout(std::shared_ptr<session_context> context,
                              std::shared_ptr<const queue_names> names, std::shared_ptr<void> owner,
                              const children_result& listed) {
  if (names->has_only_another_layout(listed.names)) co_return errc::layout_mismatch;
  const bool exists = listed.stat.czxid != 0;
  const auto other = names->other_place_of_items(listed.names, exists);
  if (other.empty()) co_return error_code{};
  const auto listing =
      send(context, std::move(owner), requests::children(context->defaults(), other, {}));
  const auto others = co_await listing;
  // A node that cannot be read may belong to another program.
  if (others.ec == errc::no_node || others.ec == errc::no_auth) co_return error_code{};
  if (!others.ec && names->is_elsewhere(listed.names, others.value.names))
    co_return errc::layout_mismatch;
  co_return others.ec;
}

}  // namespace conclave::recipes
