// Detects a queue that has no items of the expected layout, but has nodes of a different layout.
#pragma once

#include <memory>

#include "recipes/queue/names.hpp"
#include "recipes/request.hpp"
#include "recipes/task.hpp"

namespace conclave::recipes {

// Returns errc::layout_mismatch if the queue has no items of the layout of `names`, but its nodes
// show that it has a different layout. `listed` is the listing of names->items(), empty if that
// node does not exist. It must live until the task is done. The function sends a request only if
// another node may contain the items. Pending requests keep `owner` alive.
task<error_code> check_layout(std::shared_ptr<session_context> context,
                              std::shared_ptr<const queue_names> names, std::shared_ptr<void> owner,
                              const children_result& listed);

}  // namespace conclave::recipes
