#include "recipes/queue/front_reader.hpp"

#include "recipes/queue/layout_check.hpp"

namespace conclave::recipes {

task<> front_reader::run() {
  std::optional<queue_item> found;
  error_code ec;
  bool all_removed = true;  // the listed items were removed before they could be read
  while (all_removed && !ec) {
    const auto listing = send(context_, shared_from_this(),
                              requests::children(context_->defaults(), names_->items(), {}));
    const auto listed = co_await listing;
    ec = listed.ec;
    if (!ec || ec == errc::no_node)
      if (const auto refusal =
              co_await check_layout(context_, names_, shared_from_this(), listed.value))
        ec = refusal;
    const auto items = names_->in_order(listed.value.names);
    all_removed = false;
    if (ec) break;
    for (const auto& item : items) {
      const auto reading = send(context_, shared_from_this(),
                                requests::get(context_->defaults(), names_->item(item.text), {}));
      auto got = co_await reading;
      all_removed = got.ec == errc::no_node;
      if (all_removed) continue;
      ec = got.ec;
      if (!ec) found = queue_item{item.text, std::move(got.value.data), item.priority};
      break;
    }
  }
  if (ec == errc::no_node) ec = {};  // the queue does not exist yet
  context_->post(
      [completed = std::move(completed_), ec, found = std::move(found)] { completed(ec, found); });
  co_return done;
}

}  // namespace conclave::recipes
