// Kills a program and its descendants when its hold is lost, on the thread that notices the loss.
//
// A client removes the node of a lost hold as soon as it is connected, and the next contender is
// granted the lock. The program must be dead by then. The loop could be too late: it may be waiting
// for a slow server or for CPU time, or blocked on a write to a full pipe.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <functional>
#include <mutex>
#include <stop_token>
#include <utility>

#include "cli/run/descendants.hpp"
#include "conclave/hold.hpp"

namespace conclave::cli {

class kill_on_loss {
 public:
  // `d` must outlive this object.
  kill_on_loss(const hold& held, const descendants& d)
      : held_{held}, descendants_{d}, on_loss_{held_.lost(), [this] { lost(); }} {}
  kill_on_loss(const kill_on_loss&) = delete;
  kill_on_loss& operator=(const kill_on_loss&) = delete;

  // `start` starts the program and returns its process group. If the hold is already lost, returns
  // false and does not call `start`.
  template <class F>
  bool start_unless_lost(F start) {
    const std::lock_guard lock{mutex_};
    if (state_ == state::lost || !held_.held()) return false;
    group_ = start();
    state_ = state::running;
    return true;
  }

  // Call before the program is reaped, because its group id may be reused afterwards. Background
  // processes of the program may still be running.
  void program_ended() {
    const std::lock_guard lock{mutex_};
    if (state_ == state::running) state_ = state::ended;
  }

 private:
  enum class state { not_started, running, ended, lost };

  void lost() noexcept {
    const std::lock_guard lock{mutex_};
    const auto before = std::exchange(state_, state::lost);
    if (before == state::not_started) return;
    // The loop reports a program that we are not permitted to kill.
    if (before == state::running) ::kill(-group_, SIGKILL);
    try {
      descendants_.kill_all();
    } catch (...) {
      // The loop tries again.
    }
  }

  const hold held_;
  const descendants& descendants_;
  std::mutex mutex_;
  state state_ = state::not_started;
  pid_t group_ = 0;
  // The last member, because it may call lost() at once.
  std::stop_callback<std::function<void()>> on_loss_;
};

}  // namespace conclave::cli
