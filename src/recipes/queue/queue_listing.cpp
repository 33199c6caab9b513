#include "recipes/queue/queue_listing.hpp"

#include <algorithm>
#include <utility>

#include "recipes/make_path.hpp"

namespace conclave::recipes {

watcher queue_listing::set(watch_registration& watch, const std::shared_ptr<void>& owner) {
  return watch.set(context_, owner, watch_lifetime::one_shot, [this] {
    changed_ = true;
    changed_callback_();
  });
}

void queue_listing::forget_watches() {
  items_watch_.forget(*context_, names_->items(), watch_kind::children);
  claims_watch_.forget(*context_, names_->claims(), watch_kind::children);
}

pending_reply<children_result> queue_listing::list_children(const std::shared_ptr<void>& owner,
                                                            const std::string& folder, watcher w) {
  return send(context_, owner, requests::children(context_->defaults(), folder, std::move(w)));
}

pending_reply<std::optional<node_stat>> queue_listing::read_stat(const std::shared_ptr<void>& owner,
                                                                 const std::string& folder) {
  return send(context_, owner, requests::exists(context_->defaults(), folder, {}));
}

pending_reply<children_result> queue_listing::list_consumers(const std::shared_ptr<void>& owner) {
  return list_children(owner, names_->consumers());
}

pending_reply<std::optional<node_stat>> queue_listing::count_consumers(
    const std::shared_ptr<void>& owner) {
  return read_stat(owner, names_->consumers());
}

task<queue_listing::result> queue_listing::list(std::shared_ptr<void> owner, request what) {
  using status = result::status;
  const bool watches = what.sets_watches;
  const bool sets_items = watches && !items_watch_.is_set();
  const bool sets_claims = watches && !claims_watch_.is_set();
  changed_ = false;
  result listed;
  std::optional<pending_reply<children_result>> items, claims, counters;
  std::optional<pending_reply<std::optional<node_stat>>> wait_queue, consumer_count;
  {
    const single_write in_one_write{*context_};
    // The claims are listed first. So an item that is completed between the two listings is not in
    // the list of items.
    if (contents_ == contents::items_and_claims)
      claims = list_children(owner, names_->claims(),
                             sets_claims ? set(claims_watch_, owner) : watcher{});
    items =
        list_children(owner, names_->items(), sets_items ? set(items_watch_, owner) : watcher{});
    if (watches) wait_queue = read_stat(owner, names_->waiting_consumers());
    if (what.with == consumers::names) counters = list_consumers(owner);
    if (what.with == consumers::count) consumer_count = count_consumers(owner);
  }
  error_code ec;
  if (claims) {
    auto got = co_await *claims;
    ec = got.ec;
    if (ec && sets_claims) claims_watch_.clear();
    claims_pzxid_ = ec ? 0 : got.value.stat.pzxid;
    listed.claimed = std::move(got.value.names);
    std::sort(listed.claimed.begin(), listed.claimed.end());
  }
  auto got = co_await *items;
  if (got.ec && sets_items) items_watch_.clear();
  items_pzxid_ = got.ec ? 0 : got.value.stat.pzxid;
  listed.items = std::move(got.value);
  if (wait_queue) {
    const auto found = co_await *wait_queue;
    listed.others_wait = found.value && found.value->num_children > 1;
  }
  if (counters) {
    auto names = co_await *counters;
    listed.consumers = std::move(names.value.names);
    listed.consumer_count = listed.consumers.size();
  }
  if (consumer_count) {
    const auto folder = co_await *consumer_count;
    if (folder.value) listed.consumer_count = static_cast<std::size_t>(folder.value->num_children);
  }
  if (ec == errc::no_node && (watches || !got.ec)) {
    ec = co_await make_path(context_, owner, names_->claims(), queue_names::folder_levels,
                            names_->claims_mode());
    if (!ec && !got.ec) listed.is = status::folder_created;
  }
  if (got.ec == errc::no_node && watches) {
    ec = co_await make_path(context_, owner, names_->items(), names_->items_levels(),
                            create_mode::persistent, std::string{names_->folder_data()});
    if (!ec) listed.is = status::folder_created;
  }
  if (listed.is == status::folder_created) co_return listed;
  if (!ec || ec == errc::no_node) ec = got.ec;
  if (ec && ec != errc::no_node) {
    listed.ec = ec;
    co_return listed;
  }
  listed.is = status::listed;
  co_return listed;
}

task<queue_listing::check_result> queue_listing::check(std::shared_ptr<void> owner) {
  std::optional<pending_reply<std::optional<node_stat>>> items, claims, wait_queue;
  {
    const single_write in_one_write{*context_};
    if (contents_ == contents::items_and_claims) claims = read_stat(owner, names_->claims());
    items = read_stat(owner, names_->items());
    wait_queue = read_stat(owner, names_->waiting_consumers());
  }
  const auto pzxid = [](const std::optional<node_stat>& folder) {
    return folder ? folder->pzxid : std::int64_t{0};
  };
  check_result found;
  if (claims) {
    const auto got = co_await *claims;
    found.ec = got.ec;
    found.last_change = pzxid(got.value);
    found.changed = found.last_change != claims_pzxid_;
  }
  const auto got = co_await *items;
  if (!found.ec) found.ec = got.ec;
  found.changed = found.changed || pzxid(got.value) != items_pzxid_;
  found.last_change = std::max(found.last_change, pzxid(got.value));
  const auto waiting = co_await *wait_queue;
  if (!found.ec) found.ec = waiting.ec;
  found.wait_queue = waiting.value;
  co_return found;
}

}  // namespace conclave::recipes
