// Lists a queue for a consumer. For the first consumer of the wait queue, it also sets watches and
// creates missing folders, so that there are nodes to watch. For the others, it checks without a
// listing whether the queue has changed.
//
// All members must be called inside a session_context::scope.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recipes/queue/names.hpp"
#include "recipes/queue/watch_registration.hpp"
#include "recipes/request.hpp"
#include "recipes/task.hpp"

namespace conclave::recipes {

class queue_listing {
 public:
  enum class contents { items, items_and_claims };
  // `changed` is called when a watch fires.
  queue_listing(std::shared_ptr<session_context> context, std::shared_ptr<const queue_names> names,
                contents c, std::function<void()> changed)
      : context_{std::move(context)},
        names_{std::move(names)},
        contents_{c},
        changed_callback_{std::move(changed)} {}

  // What a listing also returns about the counter nodes of the consumers.
  enum class consumers { nothing, count, names };
  struct request {
    bool sets_watches = false;  // sets the watches that are not set yet
    consumers with = consumers::nothing;
  };
  struct result {
    enum class status {
      listed,
      folder_created,  // a folder was missing: list again
      failed,
    };
    status is = status::failed;
    error_code ec;
    children_result items;               // empty if the queue does not exist
    std::vector<std::string> claimed;    // the names of claimed items, sorted
    std::vector<std::string> consumers;  // needs consumers::names
    std::size_t consumer_count = 0;      // needs consumers::count or consumers::names
    std::optional<bool> others_wait;  // others are behind the first consumer; needs `sets_watches`
  };
  // The parameter `owner` of the functions below is the object that owns this one. Pending requests
  // keep the owner alive.
  task<result> list(std::shared_ptr<void> owner, request what);
  pending_reply<children_result> list_consumers(const std::shared_ptr<void>& owner);
  pending_reply<std::optional<node_stat>> count_consumers(const std::shared_ptr<void>& owner);

  // Must be called after each listing. The argument says whether the listing contained items that
  // the consumer can acquire.
  void set_found_items(bool found) noexcept { found_nothing_ = !found; }
  // Returns true if the last listing contained no items that the consumer can acquire.
  bool found_nothing() const noexcept { return found_nothing_; }
  // Reads whether folders have changed since the last listing. The size of the requests does not
  // depend on the length of the queue. `wait_queue` is the stat of the node
  // queue_names::waiting_consumers().
  struct check_result {
    error_code ec;
    bool changed = false;
    std::int64_t last_change = 0;  // the zxid of the last change of the items or claims
    std::optional<node_stat> wait_queue;
  };
  task<check_result> check(std::shared_ptr<void> owner);

  bool is_watching() const {
    return items_watch_.is_set() && (contents_ == contents::items || claims_watch_.is_set());
  }
  // Returns true if the watches are set and have reported no change since the last listing.
  bool is_current() const { return is_watching() && !changed_; }
  void set_outdated() noexcept { changed_ = true; }
  void forget_watches();

 private:
  watcher set(watch_registration& watch, const std::shared_ptr<void>& owner);
  pending_reply<children_result> list_children(const std::shared_ptr<void>& owner,
                                               const std::string& folder, watcher w = {});
  pending_reply<std::optional<node_stat>> read_stat(const std::shared_ptr<void>& owner,
                                                    const std::string& folder);

  std::shared_ptr<session_context> context_;
  std::shared_ptr<const queue_names> names_;
  contents contents_;
  std::function<void()> changed_callback_;
  // The watches on the children of the items' folder and of the claims' folder.
  watch_registration items_watch_;
  watch_registration claims_watch_;
  bool changed_ = false;  // since the last listing
  bool found_nothing_ = false;
  // The last change of each folder's children when it was listed, 0 if the folder did not exist.
  std::int64_t items_pzxid_ = 0;
  std::int64_t claims_pzxid_ = 0;
};

}  // namespace conclave::recipes
