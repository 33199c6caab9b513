#include "cli/run/watched_run.hpp"

#include <unistd.h>

#include <algorithm>

namespace conclave::cli {

using namespace std::chrono_literals;

std::chrono::milliseconds longest_grace(std::chrono::milliseconds session_timeout) {
  return session_timeout / 4;
}

watched_run::watched_run(const loop& l, const program& p, hold held, run_options options,
                         std::function<void(const result&)> ended)
    : held_{std::move(held)},
      options_{options},
      ended_{std::move(ended)},
      child_{p, l.original_mask(), !options.kept_by_children} {
  if (options_.kept_by_children) return;
  guard_.emplace(child_.group());
  guard_->alive_for(held_.remaining());
}

void watched_run::pass_on(int signal) {
  switch (signal) {
    case SIGCHLD: child_changed(); break;
    case SIGCONT:
      if (!held_still_ && held_.held()) child_.signal(SIGCONT);
      break;
    default:
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
  // What the program inherited is the old connection; the new one ends with us.
  if (!guard_) guard_.emplace(child_.group());
  if (!std::exchange(held_still_, false)) return;
  child_.signal(SIGCONT);
}

loop::clock::time_point watched_run::check() {
  if (finished_) return loop::clock::time_point::max();
  const auto now = loop::clock::now();
  const auto left = held_.remaining();
  if (guard_) guard_->alive_for(left);
  if (!held_.held() || (kill_at_ && now >= *kill_at_)) {
    kill();
    return now + 1s;
  }
  if (left <= options_.grace) terminate();
  if (kill_at_) return std::min(*kill_at_, now + left);
  return left > 24h ? loop::clock::time_point::max() : now + (left - options_.grace);
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
  if (news.what == child::change::kind::ended) finish();
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
  // Before anything is given away: whatever else the group has must not be killed by the guard,
  // unless the hold is gone, in which case it must be.
  if (lost_ || !held_.held()) kill();
  guard_.reset();
  terminal_.take_back();
  result r;
  r.left_something = options_.kept_by_children && child_.left_something();
  r.code = child_.reap();
  r.lost = lost_;
  ended_(r);
}

}  // namespace conclave::cli
