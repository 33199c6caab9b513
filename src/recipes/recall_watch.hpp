// Reports whether other contenders exist, to a holder that wants to keep its lock after unlock().
//
// The holder lists its wait queues once. The same request sets a watch on the children of the path.
// If the holder's node is the only child, the holder is alone. Every later change of the children
// causes a watch event. This is also true after a reconnect: the session sets the watch again, and
// the server then reports changes that happened in between. So a new contender can be reported
// late, but never missed.
//
// All members must be called inside a session_context::scope.
#pragma once

#include <vector>

#include "recipes/owned_nodes.hpp"

namespace conclave::recipes {

class recall_watch {
 public:
  enum class state {
    off,
    checking,  // work() must list the wait queues, or waits for the replies
    alone,     // no other contender exists, as far as the server has reported
    recalled,  // another contender may exist
  };

  recall_watch(contender_context& c, owned_nodes& nodes) : context_{c}, nodes_{nodes} {}

  state current() const noexcept { return state_; }
  // Starts to check whether other contenders exist. The result is reported once, as
  // contender_events::alone() or recalled(). A later contender is reported as recalled().
  void start();
  // Removes the watches. No event is reported after this call.
  void end();

  bool has_work() const noexcept { return state_ == state::checking; }
  task<> work();

 private:
  struct watched_path {
    std::string path;
    watcher callback;
    bool fired = false;
  };
  watcher make_callback(std::size_t index);
  void recall();

  contender_context& context_;
  owned_nodes& nodes_;
  state state_ = state::off;
  std::vector<watched_path> watched_;
};

}  // namespace conclave::recipes
