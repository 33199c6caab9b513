// The entry of one client in a wait queue whose contenders wait for the same change. Only the first
// contender watches for the change. The others rely on the first contender, but only for a limited
// time, because its process may be stopped while its session lives. The more contenders there are,
// the less often each of them checks, so that the total cost of the checks stays small.
//
// All members must be called inside a session_context::scope.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "conclave/node.hpp"
#include "recipes/contender.hpp"

namespace conclave::recipes {

class wait_queue_entry {
 public:
  // `path` is the wait queue. `changed` is called when the entry becomes the first one, when
  // is_overdue() becomes true, and when the entry is lost.
  wait_queue_entry(std::shared_ptr<session_context> context, std::string path,
                   std::function<void()> changed);
  wait_queue_entry(const wait_queue_entry&) = delete;
  wait_queue_entry& operator=(const wait_queue_entry&) = delete;
  ~wait_queue_entry() { leave(); }

  // Enters the wait queue. No effect if the client is already in the wait queue.
  void enter();
  void leave();

  bool is_entered() const noexcept { return own_contender_ != nullptr; }
  bool is_first() const noexcept;
  // Returns true if the client has relied on the first contender for so long that it must check for
  // the change itself, and then call restart_check_timer().
  bool is_overdue() const noexcept { return overdue_; }
  // Starts a new period in which the client relies on the first contender. `wait_queue` is the stat
  // of the wait queue's node, or nullopt if it could not be read.
  void restart_check_timer(const std::optional<node_stat>& wait_queue);
  // Returns the error that ended the entry, if there is one. The next call returns no error.
  error_code take_error() noexcept;

 private:
  struct own_contender;
  void lost(error_code why);
  void plan_overdue(duration longest);

  std::shared_ptr<session_context> context_;
  std::string path_;
  std::function<void()> changed_;
  bool overdue_ = false;
  std::shared_ptr<own_contender> own_contender_;  // null if not in the wait queue
  error_code error_;
};

}  // namespace conclave::recipes
