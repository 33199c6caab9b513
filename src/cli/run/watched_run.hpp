// A program that runs while something is held: a lock, leadership, or a queue's item.
//
// When the hold comes near its end and there is no word from the server, the program's group is
// asked to end (SIGTERM) and, a grace later, killed: all of it before the server can give the lock
// to anybody else. The time for that is taken from the end of the hold backwards. When the hold is
// lost, it is killed at once, whatever the loop is doing.
//
// On a server that sees processes, what the program and everything that it starts inherit keeps the
// hold, with or without us; the guard makes up for a restart of the server.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/run/child.hpp"
#include "cli/run/descendants.hpp"
#include "cli/run/guard.hpp"
#include "cli/run/kill_on_loss.hpp"
#include "cli/run/loop.hpp"
#include "cli/run/terminal.hpp"
#include "conclave/client.hpp"
#include "conclave/hold.hpp"
#include "conclave/session_keeper.hpp"

namespace conclave::cli {

struct run_options {
  // What happens when the connection is lost, before anything else is: nothing, the program is
  // stopped until it is back, or asked to end.
  enum class on_suspend { ignore, stop, term };
  on_suspend suspend = on_suspend::ignore;
  std::chrono::milliseconds grace{5000};  // from SIGTERM to SIGKILL
  // Of the server on this machine that the session is on; empty: it is elsewhere.
  std::string server_socket;
  std::filesystem::path local_folder;  // of this user's own server; otherwise empty
  // Whether processes that the program leaves in the background keep the hold.
  enum class hold_ends { with_program, with_last_process };
  hold_ends ends = hold_ends::with_last_process;
  bool uses_terminal = true;
};

// The longest grace for which there is time: a silent server is noticed late.
std::chrono::milliseconds longest_grace(std::chrono::milliseconds session_timeout);

class watched_run {
 public:
  // What became of the hold while the program ran.
  enum class hold_fate {
    kept,
    // The connection was lost, and the program was asked to end: at once (on_suspend::term), or
    // because the time was nearly over. It ended while nobody else could have the lock.
    ended_in_time,
    lost,
  };
  struct result {
    int code = 0;  // the program's
    hold_fate fate = hold_fate::kept;
    // Something that the program started lives on, and keeps the hold. The guard looks after it, as
    // long as this watched_run is not destroyed.
    bool left_something = false;
    bool interrupted = false;  // it died of Ctrl-C
    bool kept() const noexcept { return fate == hold_fate::kept; }
    // What to say, of "the lock" for instance, unless it was kept.
    std::string explanation(const std::string& what) const;
  };

  // Throws failure if the program cannot be started. `ended` is called in the loop, from the
  // functions below, once.
  watched_run(const loop& l, program p, client& zk, hold held, run_options options,
              std::function<void(const result&)> ended);

  // All of these in the loop.
  void pass_on(int signal);  // one that we got
  void suspended();          // the connection was lost
  void restored();           // and is back
  // In every turn, also after the end; returns when it must be called again. Throws as the
  // constructor does: the server may have been restarted just then.
  loop::clock::time_point check();

  // Of one that has ended: whether something that it started still lives.
  bool left_something() const { return descendants_.alive(); }

 private:
  // Who keeps the hold while the program runs.
  enum class kept_by { unknown, us, processes };

  kept_by find_keeper();
  bool start();
  std::unique_ptr<guard> new_guard() const;
  // Replaces a killed guard, but not without a pause. Returns when to call it again.
  loop::clock::time_point look_after_guard();
  bool hand_over_to_guard();
  void child_changed();
  void stopped(int signal);
  void stop_with_child();
  void terminate();
  void kill(hold_fate why);
  void finish();
  void finish_unstarted(int signal);

  const program program_;
  const sigset_t signal_mask_;
  client& client_;
  hold held_;
  run_options options_;
  std::function<void(const result&)> ended_;
  int tries_ = 0;                   // to find out who keeps it
  session_keeper keeper_;           // inherited by the program, which can close or break it
  session_keeper keeper_of_guard_;  // so the guard has another one
  descendants descendants_;
  std::unique_ptr<guard> guard_;
  loop::clock::time_point next_guard_{};  // not before
  int killed_guards_ = 0;
  std::optional<child> child_;  // none: it waits for the server
  terminal terminal_;
  bool interrupted_ = false;  // SIGINT was passed on to it
  bool finished_ = false;
  hold_fate fate_ = hold_fate::kept;
  std::optional<result> handing_over_;  // the program has ended, and the guard is not ready yet
  bool held_still_ = false;             // stopped by us, until the connection is back
  std::optional<loop::clock::time_point> kill_at_;
  kill_on_loss kill_on_loss_;  // the last: another thread uses what is above
};

}  // namespace conclave::cli
