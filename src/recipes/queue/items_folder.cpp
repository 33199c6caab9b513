#include "recipes/queue/items_folder.hpp"

#include <algorithm>
#include <chrono>

namespace conclave::recipes {
namespace {

constexpr duration shortest_pause = std::chrono::minutes{1};
constexpr duration longest_pause = std::chrono::hours{1};

}  // namespace

task<error_code> items_folder::identify(std::shared_ptr<void> owner, const node_stat& listed) {
  if (czxid_ != listed.czxid || !watch_.is_set()) {
    if (czxid_ != listed.czxid) too_large_.clear();  // the item names have started again
    czxid_ = 0;
    watch_.forget(*context_, names_->items(), watch_kind::data);
    const auto& w = watch_.set(context_, owner, watch_lifetime::one_shot, [this] {
      czxid_ = 0;
      changed_();
    });
    const auto reading =
        send(context_, owner, requests::get(context_->defaults(), names_->items(), w));
    const auto folder = co_await reading;
    if (folder.ec) {
      watch_.clear();
      co_return folder.ec;
    }
    if (folder.value.stat.czxid != listed.czxid) co_return errc::no_node;
    czxid_ = listed.czxid;
    const bool may_be_container = folder.value.data != names_->folder_data();
    identity_.set_needed(!names_->identities().empty() && may_be_container);
  }
  if (!identity_.needed() || identity_.established()) co_return error_code{};
  co_return co_await identity_.establish(owner);
}

duration items_folder::set_too_large(const std::string& item) {
  auto& refused = too_large_[item];
  refused.pause = std::clamp(2 * refused.pause, shortest_pause, longest_pause);
  refused.try_again = context_->now() + refused.pause;
  return refused.pause;
}

bool items_folder::is_too_large(const std::string& item) const {
  const auto found = too_large_.find(item);
  return found != too_large_.end() && context_->now() < found->second.try_again;
}

bool items_folder::is_checked() const { return identity_.needed(); }

task<> items_folder::leave(std::shared_ptr<void> owner) {
  watch_.forget(*context_, names_->items(), watch_kind::data);
  co_return co_await identity_.remove(owner);
}

}  // namespace conclave::recipes
