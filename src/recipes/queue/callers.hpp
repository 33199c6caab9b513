// The calls that wait for an item of a queue, in the order in which they get one.
//
// All members must be called inside a session_context::scope.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "conclave/error.hpp"
#include "conclave/queue_item.hpp"
#include "recipes/queue/claim.hpp"

namespace conclave::recipes {

struct acquired_item {
  queue_item item;                        // set if the item was popped
  std::shared_ptr<recipes::claim> claim;  // set if the item was claimed
};

// A queue object whose calls use a consumer.
struct queue_user {
  std::optional<error_code> removed_with;  // set if the user was removed; see remove_user()
};

// A call that wants an item. `complete` is called once, outside of the session_context::scope. If
// it receives neither an error nor an item, the queue was empty and the call does not wait.
struct queue_caller {
  std::function<void(error_code, std::optional<acquired_item>)> complete;
  std::shared_ptr<const queue_user> user;  // null if the consumer has only one user
  bool waits = true;
  std::optional<error_code> gave_up_with;  // set if the caller gave up while its item is acquired
  time_point called{};                     // set only if calls are counted

 private:
  friend class waiting_callers;
  std::int64_t position_ = 0;  // in waiting_callers
};
using caller_ptr = std::shared_ptr<queue_caller>;

// No function visits more callers than it adds, removes or returns.
class waiting_callers {
 public:
  bool empty() const noexcept { return callers_.empty(); }
  std::size_t size() const noexcept { return callers_.size(); }
  bool has_one_that_does_not_wait() const noexcept { return !not_waiting_.empty(); }

  void push_back(caller_ptr who) {
    insert(callers_.empty() ? 0 : callers_.rbegin()->first + 1, std::move(who));
  }
  void push_front(caller_ptr who) {
    insert(callers_.empty() ? 0 : callers_.begin()->first - 1, std::move(who));
  }
  caller_ptr pop_front() { return remove(callers_.begin()); }
  std::vector<caller_ptr> pop_front(std::size_t n) {
    std::vector<caller_ptr> removed;
    for (; removed.size() < n && !empty();) removed.push_back(pop_front());
    return removed;
  }
  // Returns false if the caller is not in the list.
  bool erase(const caller_ptr& who) {
    const auto found = callers_.find(who->position_);
    if (found == callers_.end() || found->second != who) return false;
    remove(found);
    return true;
  }
  // The following functions remove the callers that they return.
  std::vector<caller_ptr> take_all() { return pop_front(size()); }
  std::vector<caller_ptr> take_all_that_do_not_wait() {
    std::vector<caller_ptr> removed;
    while (!not_waiting_.empty()) removed.push_back(remove(callers_.find(*not_waiting_.begin())));
    return removed;
  }
  std::vector<caller_ptr> take_all_of(const queue_user* user) {
    constexpr auto first = std::numeric_limits<std::int64_t>::min();
    std::vector<caller_ptr> removed;
    for (;;) {
      const auto next = by_user_.lower_bound({user, first});
      if (next == by_user_.end() || next->first != user) return removed;
      removed.push_back(remove(callers_.find(next->second)));
    }
  }

 private:
  using map = std::map<std::int64_t, caller_ptr>;

  void insert(std::int64_t position, caller_ptr who) {
    who->position_ = position;
    by_user_.emplace(who->user.get(), position);
    if (!who->waits) not_waiting_.insert(position);
    callers_.emplace(position, std::move(who));
  }
  caller_ptr remove(map::iterator which) {
    auto who = std::move(which->second);
    by_user_.erase({who->user.get(), which->first});
    not_waiting_.erase(which->first);
    callers_.erase(which);
    return who;
  }

  map callers_;
  std::set<std::int64_t> not_waiting_;
  std::set<std::pair<const queue_user*, std::int64_t>> by_user_;
};

}  // namespace conclave::recipes
