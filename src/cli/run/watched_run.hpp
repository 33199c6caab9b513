// A program that runs while something is held: a lock, leadership, or a queue's item.
//
// When the hold comes near its end and there is no word from the server, the program's group is
// asked to end (SIGTERM) and, a grace later, killed: all of it before the server can give the lock
// to anybody else. The time for that is taken from the end of the hold backwards.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "cli/run/child.hpp"
#include "cli/run/guard.hpp"
#include "cli/run/loop.hpp"
#include "cli/run/terminal.hpp"
#include "conclave/hold.hpp"

namespace conclave::cli {

struct run_options {
  // What happens when the connection is lost, before anything else is: nothing, the program is
  // stopped until it is back, or asked to end.
  enum class on_suspend { ignore, stop, term };
  on_suspend suspend = on_suspend::ignore;
  std::chrono::milliseconds grace{5000};  // from SIGTERM to SIGKILL
  // The server sees processes: what the program starts keeps the hold, even without us.
  bool kept_by_children = false;
  std::filesystem::path server_socket;  // of that server
  std::chrono::milliseconds session_timeout{0};
  bool uses_terminal = true;
};

// The longest grace for which there is time: a silent server is noticed late.
std::chrono::milliseconds longest_grace(std::chrono::milliseconds session_timeout);

class watched_run {
 public:
  struct result {
    int code = 0;       // the program's
    bool lost = false;  // the hold was, before the program had ended
    // Something that the program started lives on, and keeps the hold.
    bool left_something = false;
    bool interrupted = false;  // it died of Ctrl-C
  };

  // Throws failure if the program cannot be started. `ended` is called in the loop, from the
  // functions below, once.
  watched_run(const loop& l, const program& p, hold held, run_options options,
              std::function<void(const result&)> ended);

  // All of these in the loop.
  void pass_on(int signal);         // one that we got
  void suspended();                 // the connection was lost
  void restored();                  // and is back
  loop::clock::time_point check();  // in every turn; when it must be called again

  // Of one that has ended: whether something that it started still lives.
  bool left_something() const { return child_.left_something(); }

 private:
  std::unique_ptr<guard> new_guard() const;
  void start_guard();
  void child_changed();
  void stopped(int signal);
  void stop_with_child();
  void terminate();
  void kill();
  void finish();

  hold held_;
  run_options options_;
  std::function<void(const result&)> ended_;
  bool reattached_ = false;  // the hold is ours alone: the program has an old connection
  std::unique_ptr<guard> guard_;
  child child_;
  terminal terminal_;
  loop::clock::time_point guard_at_;  // short commands do without one
  bool ended_itself_ = false;         // and what it left is waited for
  bool interrupted_ = false;          // SIGINT was passed on to it
  bool finished_ = false;
  bool lost_ = false;
  bool held_still_ = false;  // stopped by us, until the connection is back
  std::optional<loop::clock::time_point> kill_at_;
};

}  // namespace conclave::cli
