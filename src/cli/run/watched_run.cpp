#include "cli/run/watched_run.hpp"

#include <unistd.h>

#include <algorithm>

#include "cli/connect/local_server.hpp"

namespace conclave::cli {

using namespace std::chrono_literals;

std::chrono::milliseconds longest_grace(std::chrono::milliseconds session_timeout) {
  return session_timeout / 4;
}

watched_run::watched_run(const loop& l, const program& p, hold held, run_options options,
                         std::function<void(const result&)> ended)
    : held_{std::move(held)},
      options_{std::move(options)},
      ended_{std::move(ended)},
      guard_{options_.kept_by_children ? nullptr : new_guard()},
      child_{p, l.original_mask(), !options_.kept_by_children, guard_ ? &guard_->group() : nullptr},
      guard_at_{guard_ ? loop::clock::time_point::max() : loop::clock::now() + 20ms} {}

std::unique_ptr<guard> watched_run::new_guard() const {
  guard::terms t;
  t.held_by_command = options_.kept_by_children && !reattached_;
  if (options_.kept_by_children)
    if (const auto server = server_process::at(options_.server_socket)) t.server = server->pid();
  t.without_server = options_.session_timeout * 3 / 4;
  auto made = std::make_unique<guard>(t);
  made->alive_for(held_.remaining());
  return made;
}

void watched_run::start_guard() {
  guard_at_ = loop::clock::time_point::max();
  auto made = new_guard();
  made->group() = child_.group();
  guard_ = std::move(made);
}

void watched_run::pass_on(int signal) {
  switch (signal) {
    case SIGCHLD: child_changed(); break;
    case SIGCONT:
      if (!held_still_ && held_.held()) child_.signal(SIGCONT);
      break;
    default:
      interrupted_ = interrupted_ || signal == SIGINT;
      child_.signal(signal);
      // One that is stopped would get it only when it goes on.
      if (signal == SIGTERM || signal == SIGHUP) child_.signal(SIGCONT);
  }
}

void watched_run::suspended() {
  if (options_.suspend == run_options::on_suspend::term) terminate();
  if (options_.suspend == run_options::on_suspend::stop && !kill_at_) {
    held_still_ = true;
    child_.signal(SIGSTOP);
  }
}

void watched_run::restored() {
  reattached_ = true;
  start_guard();  // of another server
  if (std::exchange(held_still_, false)) child_.signal(SIGCONT);
}

loop::clock::time_point watched_run::check() {
  if (finished_) return loop::clock::time_point::max();
  const auto now = loop::clock::now();
  if (now >= guard_at_) start_guard();
  const auto left = held_.remaining();
  if (guard_) guard_->alive_for(left);
  if (ended_itself_ && !child_.left_something()) {
    finish();
    return now;
  }
  if (!held_.held() || (kill_at_ && now >= *kill_at_)) {
    kill();
    if (ended_itself_) finish();
    return now + 1s;
  }
  if (left <= options_.grace) terminate();
  auto next = std::min(guard_at_, ended_itself_ ? now + 50ms : loop::clock::time_point::max());
  if (kill_at_) return std::min({next, *kill_at_, now + left});
  return left > 24h ? next : std::min(next, now + (left - options_.grace));
}

void watched_run::terminate() {
  if (kill_at_) return;
  lost_ = true;
  kill_at_ =
      loop::clock::now() + std::min<std::chrono::nanoseconds>(options_.grace, held_.remaining());
  child_.signal(SIGTERM);
  child_.signal(SIGCONT);
}

void watched_run::kill() {
  lost_ = true;
  if (!kill_at_) kill_at_ = loop::clock::now();
  child_.signal(SIGKILL);
}

void watched_run::child_changed() {
  if (finished_) return;
  const auto news = child_.look();
  if (news.what == child::change::kind::stopped) stopped(news.signal);
  if (news.what != child::change::kind::ended) return;
  // What it left behind would hold the lock by an old connection, which is no hold.
  ended_itself_ = options_.kept_by_children && reattached_ && child_.left_something();
  if (!ended_itself_) finish();
}

void watched_run::stopped(int signal) {
  if (!options_.uses_terminal) return;
  const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
  if (wants_terminal && terminal_.give(child_.group())) return child_.signal(SIGCONT);
  if (wants_terminal || signal == SIGTSTP) stop_with_child();
}

// So that the shell which started us takes its terminal back. The program stands still as long as
// we do, and goes on only if the hold has outlasted that.
void watched_run::stop_with_child() {
  const bool had_terminal = terminal_.given();
  terminal_.take_back();
  ::kill(::getpid(), SIGSTOP);
  if (!held_.held()) return kill();
  if (had_terminal) terminal_.give(child_.group());
  if (!held_still_) child_.signal(SIGCONT);
}

void watched_run::finish() {
  finished_ = true;
  // What else the group has must not run on without the hold.
  if (lost_ || !held_.held()) kill();
  guard_.reset();
  const bool had_terminal = terminal_.given();
  terminal_.take_back();
  result r;
  r.left_something = options_.kept_by_children && !reattached_ && child_.left_something();
  r.code = child_.reap();
  r.interrupted = (had_terminal || interrupted_) && r.code == 128 + SIGINT;
  // The terminal has told nobody but the program's group.
  if (had_terminal && r.interrupted) ::kill(0, SIGINT);
  r.lost = lost_;
  ended_(r);
}

}  // namespace conclave::cli
