// The entry of one client in a wait queue whose members wait for the same change. Only the first
// member watches for the change. The other members rely on the first one, but only for a limited
// time, because its process may be stopped while its session lives.
//
// All members are called inside a session_context::scope.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "recipes/contender.hpp"

namespace conclave::recipes {

class wait_queue_entry {
 public:
  // `path` is the wait queue. `changed` is called when the entry becomes the first one, becomes
  // overdue or is lost.
  wait_queue_entry(std::shared_ptr<session_context> p, std::string path,
                   std::function<void()> changed);
  wait_queue_entry(const wait_queue_entry&) = delete;
  wait_queue_entry& operator=(const wait_queue_entry&) = delete;
  ~wait_queue_entry() { leave(); }

  // Enters the wait queue. No effect if the client is already in the wait queue.
  void enter();
  void leave();

  bool is_entered() const noexcept { return member_ != nullptr; }
  bool is_first() const noexcept;
  // Returns true if the client has relied on the first member for so long that it must check for
  // the change itself. The next call returns false.
  bool take_overdue() noexcept;
  // Returns the error that ended the entry, if there is one. The next call returns no error.
  error_code take_error() noexcept;

 private:
  struct member;
  void lost(error_code why);
  void plan_overdue();

  std::shared_ptr<session_context> context_;
  std::string path_;
  std::function<void()> changed_;
  bool overdue_ = false;
  std::shared_ptr<member> member_;  // null if not in the wait queue
  error_code error_;
};

}  // namespace conclave::recipes
