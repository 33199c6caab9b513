// Runs a program during a hold: a lock, leadership, or a claimed item.
//
// If the server is silent and the deadline of the hold is near, the program's process group gets
// SIGTERM and, after a grace period, SIGKILL. Both times are counted back from the deadline, so the
// program is killed before the server can grant the lock to another client. If the hold is lost,
// the program is killed at once, whatever the loop is doing. If the program runs as another user,
// the system may not permit us to kill it. The loss is then reported without waiting for the
// program to end.
//
// If the server can see processes, the descriptor that the program inherits keeps the hold, even if
// conclave has ended. If the server restarts or the program closes the descriptor, the guard keeps
// the hold.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/run/child.hpp"
#include "cli/run/deadline_renewal.hpp"
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
  // The action when the connection is lost: none, stop the program until the hold is restored, or
  // send SIGTERM.
  enum class on_suspend { ignore, stop, term };
  on_suspend suspend = on_suspend::ignore;
  std::chrono::milliseconds grace{5000};  // from SIGTERM to SIGKILL
  // The socket of the server that has the session. Empty if that server is not on this machine.
  std::string server_socket;
  std::filesystem::path local_folder;  // of this user's own server; empty for any other
  // The hold ends when the program itself exits, or when the last of its processes exits, including
  // background processes.
  enum class hold_ends { with_program, with_last_process };
  hold_ends ends = hold_ends::with_last_process;
  bool uses_terminal = true;
};

// Returns the longest grace period that fits into the session timeout. A silent server is noticed
// late, so little of the session timeout is left for the grace period.
std::chrono::milliseconds longest_grace(std::chrono::milliseconds session_timeout);

class watched_run {
 public:
  // The state of the hold while the program ran.
  enum class hold_outcome {
    kept,
    // The connection was lost and the program got SIGTERM, either at once (on_suspend::term) or
    // near the deadline. The program ended before another client could be granted the lock.
    ended_in_time,
    lost,
  };
  struct result {
    int code = 0;  // the exit code of the program
    hold_outcome outcome = hold_outcome::kept;
    // True if a background process of the program is still running and keeps the hold. The guard
    // protects this process as long as this watched_run exists.
    bool has_background_processes = false;
    std::vector<pid_t> background_processes;  // those that we can see
    bool interrupted = false;                 // Ctrl-C ended the program
    // Processes of the program that are still running after the loss, because we are not permitted
    // to kill them.
    std::vector<pid_t> still_running;
    bool kept() const noexcept { return outcome == hold_outcome::kept; }
    // Returns a message about `what`, for example "the lock". Call only if the hold was not kept.
    std::string explanation(const std::string& what) const;
  };

  // Throws failure if the program cannot be started. `ended` is called once, in the loop, by one of
  // the functions below.
  watched_run(const loop& l, program p, client& zk, hold held, run_options options,
              std::function<void(const result&)> ended);

  // If the program is still running when the destructor is called, the loop has ended with an
  // error. The hold ends with this process, so the destructor kills the program and its
  // descendants. If the loss of the hold was already reported, the destructor does nothing.
  ~watched_run();
  watched_run(const watched_run&) = delete;
  watched_run& operator=(const watched_run&) = delete;

  // Call all of these in the loop.
  void pass_on(int signal);  // a signal that we received
  void suspended();          // the connection was lost
  void restored();           // the hold was verified after a reconnect
  // Call in every turn, even after the program has ended. Returns the time by which it must be
  // called again. If the constructor could not start the program because the server was restarting,
  // this function starts it. It therefore throws the same exceptions as the constructor.
  loop::clock::time_point check();

  // Returns true if a background process of the ended program is alive.
  bool has_background_processes() const { return descendants_.alive(); }

 private:
  enum class phase {
    starting,      // the program has not started yet, for example because the server restarts
    running,       // the program runs
    unkillable,    // the program runs, and we are not permitted to kill it; the hold is not lost
    handing_over,  // the program has ended; waits until the guard keeps the hold for its
                   // descendants
    ended,         // `ended` was called, or is about to be called
  };
  // Who keeps the hold while the program runs.
  enum class kept_by { unknown, us, processes };
  // The attempts to find out what keeps the hold, since it was last suspended.
  struct keeper_attempts {
    int with_deadline = 0;  // consecutive attempts for which the hold had a deadline
    std::optional<loop::clock::time_point> since, refused_since;
    loop::clock::time_point next;  // no new connections before this time
  };

  kept_by find_keeper();
  void throw_if_hopeless(session_keeper::result got, std::chrono::milliseconds session_timeout);
  bool start();
  // Replaces the guard. Destroys it if `g` is null.
  void set_guard(std::unique_ptr<guard> g);
  std::unique_ptr<guard> new_guard(pid_t group) const;
  // Like new_guard(), but returns null if the system cannot create a process or descriptor.
  std::unique_ptr<guard> try_new_guard(pid_t group) const;
  // Replaces a killed guard after a pause. Returns the time by which it must be called again.
  loop::clock::time_point check_guard();
  bool hand_over_to_guard();
  bool runs() const noexcept { return phase_ == phase::running || phase_ == phase::unkillable; }
  loop::clock::time_point check_running();
  loop::clock::time_point check_handing_over();
  // Sends the signal to the program. If the system does not permit this, reports it on stderr.
  void send(int signal);
  void report_refused(int signal) const;
  void child_changed();
  void stopped(int signal);
  void stop_with_child();
  void terminate();
  void kill(hold_outcome why);
  void abandon();
  // Reports on stderr that the killed program has not ended for a while.
  void report_slow_end();
  void finish();
  void finish_unstarted(int signal);

  const program program_;
  const sigset_t signal_mask_;
  client& client_;
  hold held_;
  run_options options_;
  std::function<void(const result&)> ended_;
  keeper_attempts attempts_;
  session_keeper keeper_;           // inherited by the program, which can close or break it
  session_keeper keeper_of_guard_;  // a second keeper, because the program can break the first
  descendants descendants_;
  std::unique_ptr<guard> guard_;
  std::optional<deadline_renewal> renewal_;  // of the deadline in guard_
  loop::clock::time_point next_guard_{};     // no new guard before this time
  int killed_guards_ = 0;
  std::optional<child> child_;  // empty in phase::starting, and if the program was never started
  terminal terminal_;
  phase phase_ = phase::starting;
  hold_outcome outcome_ = hold_outcome::kept;
  result result_;                  // in phase::handing_over, the result to pass to `ended`
  bool passed_on_sigint_ = false;  // to the program
  bool stopped_by_us_ = false;     // until the connection is restored
  std::optional<loop::clock::time_point> kill_at_;
  std::optional<loop::clock::time_point> report_slow_end_at_;  // after the loss
  kill_on_loss kill_on_loss_;  // the last member, because another thread uses the members above
};

// Returns a message about the background processes that still hold `what`, for example "the lock".
std::string background_notice(const std::vector<pid_t>& processes, const std::string& what);

// Returns CONCLAVE_LOCK_NODE, CONCLAVE_FENCING_TOKEN and CONCLAVE_SESSION_ID.
std::vector<std::pair<std::string, std::string>> environment_of(const hold& held);

// Exits with `code`, but does not close the session and does not stop the guard. The program's
// background processes still need the session and the guard.
[[noreturn]] void exit_without_closing_session(int code);

}  // namespace conclave::cli
