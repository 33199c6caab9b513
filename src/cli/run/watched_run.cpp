#include "cli/run/watched_run.hpp"

#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>

#include "cli/exit_code.hpp"

namespace conclave::cli {

using namespace std::chrono_literals;

namespace {

// If hold::remaining() is longer than this, the hold has no deadline.
constexpr auto without_deadline = 24h;

// The first killed guard is replaced at once. Later ones are replaced after this time.
constexpr auto guard_pause = 100ms;
constexpr int guards_until_warning = 10;

constexpr auto refusal = "the system does not permit a signal to another user's process";

// Returns "process 12" or "processes 12, 13".
std::string names_of(const std::vector<pid_t>& processes) {
  std::string all;
  for (const auto p : processes) all += (all.empty() ? "" : ", ") + std::to_string(p);
  return (processes.size() == 1 ? "process " : "processes ") + all;
}

}  // namespace

std::chrono::milliseconds longest_grace(std::chrono::milliseconds session_timeout) {
  // The connection is suspended after two thirds of the session timeout, and the deadline is at
  // nine tenths. So the program is suspended (on_suspend::stop) a fifteenth of the session timeout
  // before it gets SIGTERM, which is enough on a busy machine.
  return session_timeout / 6;
}

std::string watched_run::result::explanation(const std::string& what) const {
  if (!still_running.empty())
    return what + " was lost, but " + names_of(still_running) + " of the command still run" +
           (still_running.size() == 1 ? "s" : "") + ": " + refusal;
  if (outcome == hold_outcome::lost) return what + " was lost while the command ran";
  return "the command was ended because the connection was lost; " + what +
         " was held until its end";
}

watched_run::watched_run(const loop& l, program p, client& zk, hold held, run_options options,
                         std::function<void(const result&)> ended)
    : program_{std::move(p)},
      signal_mask_{l.original_mask()},
      client_{zk},
      held_{std::move(held)},
      options_{std::move(options)},
      ended_{std::move(ended)},
      kill_on_loss_{held_, descendants_} {
  start();
}

// Returns kept_by::unknown while the server restarts or does not answer. The hold is then soon
// restored or lost. If the server sees our processes, the command never runs without keepers:
// otherwise its background processes would not keep the hold.
watched_run::kept_by watched_run::find_keeper() {
  if (options_.server_socket.empty()) return kept_by::us;
  // remaining() is read first, because a suspended hold has a deadline.
  const bool has_deadline = held_.remaining() <= without_deadline;
  if (held_.suspended()) {
    attempts_ = {};
    return kept_by::unknown;
  }
  if (has_deadline) {              // the server cannot see our processes
    constexpr int most_tries = 5;  // by then the client must have noticed that the server has died
    return ++attempts_.with_deadline < most_tries ? kept_by::unknown : kept_by::us;
  }
  attempts_.with_deadline = 0;
  if (loop::clock::now() < attempts_.next) return kept_by::unknown;
  const auto key = session_key::of(client_);
  constexpr auto attached = session_keeper::result::attached;
  keeper_ = session_keeper{options_.server_socket, key, 1s};
  auto got = keeper_.state();
  if (got == attached) {
    keeper_of_guard_ = session_keeper{options_.server_socket, key, 1s};
    got = keeper_of_guard_.state();
  }
  if (got == attached) return kept_by::processes;
  keeper_ = {};
  keeper_of_guard_ = {};
  throw_if_hopeless(got, key.timeout);
  return kept_by::unknown;
}

// Throws failure if no keeper can be attached although the client's connection is not lost.
void watched_run::throw_if_hopeless(session_keeper::result got,
                                    std::chrono::milliseconds session_timeout) {
  // The server may refuse connections for a moment, for example while it stops.
  constexpr auto longest_refusal = 5s;
  const auto now = loop::clock::now();
  if (!attempts_.since) attempts_.since = now;
  if (got == session_keeper::result::refused) {
    attempts_.next = now + 200ms;
    if (!attempts_.refused_since) attempts_.refused_since = now;
  } else {
    attempts_.refused_since.reset();
  }
  if (attempts_.refused_since && now - *attempts_.refused_since > longest_refusal)
    throw failure{unavailable, "the command was not started: the server at " +
                                   options_.server_socket +
                                   " refuses the connections that keep the lock for the command; "
                                   "it may have reached its connection limit"};
  if (got == session_keeper::result::no_descriptors)
    throw failure{system_failure,
                  std::string{"the command was not started: "} + std::strerror(EMFILE)};
  // If the server were silent for this time, the hold would be suspended.
  if (now - *attempts_.since > session_timeout)
    throw failure{unavailable, "the command was not started: the server's socket " +
                                   options_.server_socket +
                                   " does not answer, so background processes of the command "
                                   "could not keep the lock"};
}

bool watched_run::start() {
  const auto by = find_keeper();
  if (by == kept_by::unknown) return false;
  set_guard(new_guard(0));
  const bool started = kill_on_loss_.start_unless_lost([&] {
    child_.emplace(program_,
                   child::start_options{signal_mask_,
                                        by == kept_by::us,
                                        *guard_,
                                        {descendants_.inherited(), keeper_.descriptor()}});
    descendants_.close_own_end();
    return child_->group();
  });
  if (started)
    phase_ = phase::running;
  else
    set_guard(nullptr);
  return started;
}

void watched_run::set_guard(std::unique_ptr<guard> g) {
  renewal_.reset();
  guard_ = std::move(g);
  // A guard with a keeper has no deadline.
  if (guard_ && keeper_of_guard_.descriptor() < 0)
    renewal_.emplace(client_, held_, [to = guard_.get()](boot_clock::time_point deadline) {
      to->set_deadline(deadline);
    });
}

watched_run::~watched_run() {
  if (!runs()) return;
  const auto killed = child_->signal(SIGKILL);
  if (killed == child::delivery::refused) report_refused(SIGKILL);
  try {
    descendants_.kill_all();
  } catch (...) {
    // The command itself is killed in any case.
  }
  kill_on_loss_.program_ended();
  if (guard_) guard_->command_ended();
  if (killed == child::delivery::sent) child_->reap();
}

std::unique_ptr<guard> watched_run::new_guard(pid_t group) const {
  std::optional<guard::guarded_session> session;
  if (keeper_of_guard_.descriptor() >= 0)
    session = {options_.server_socket, options_.local_folder, session_key::of(client_),
               keeper_of_guard_.descriptor()};
  return std::make_unique<guard>(descendants_, session, group, certain_until(held_, client_));
}

std::unique_ptr<guard> watched_run::try_new_guard(pid_t group) const {
  try {
    return new_guard(group);
  } catch (const failure&) {
    return nullptr;
  }
}

loop::clock::time_point watched_run::check_guard() {
  constexpr auto never = loop::clock::time_point::max();
  if (!guard_ || guard_->alive()) return never;
  if (guard_->killed_the_command()) {
    kill(hold_outcome::lost);
    return never;
  }
  const auto now = loop::clock::now();
  if (now < next_guard_) return next_guard_;
  next_guard_ = now + guard_pause;
  if (++killed_guards_ == guards_until_warning)
    std::cerr
        << "conclave: the guard process was killed 10 times; after each kill, the command has "
           "no guard for up to 100ms\n";
  // If the system refuses a new guard now, the next turn tries again. The hold does not depend on
  // the guard.
  auto made = try_new_guard(child_->group());
  if (!made) return next_guard_;
  set_guard(std::move(made));
  return never;
}

// After we have exited, only the guard keeps the session. After a server restart, the guard may not
// be attached yet, because it is stopped or gets no processor time. Then a new guard starts with an
// attached keeper. Returns false if there is no server or no guard yet.
bool watched_run::hand_over_to_guard() {
  check_guard();
  if (!guard_->alive()) return false;  // killed, and replaced after a pause
  if (!keeper_of_guard_.broken()) return true;
  session_keeper fresh{options_.server_socket, session_key::of(client_), 1s};
  if (fresh.state() != session_keeper::result::attached) return false;
  auto former = std::exchange(keeper_of_guard_, std::move(fresh));
  auto made = try_new_guard(0);
  // The client may have lost the session in the meantime, and the keeper may belong to its next
  // session.
  if (!made || !held_.held()) {
    keeper_of_guard_ = std::move(former);
    return false;
  }
  set_guard(std::move(made));
  return true;
}

void watched_run::pass_on(int signal) {
  if (phase_ == phase::handing_over && is_ending_signal(signal))
    return kill(hold_outcome::ended_in_time);
  if (phase_ == phase::starting && is_ending_signal(signal)) return finish_unstarted(signal);
  if (!runs()) return;
  // The program is already killed. It may wait for a disk, and we do not wait for it any longer.
  if (report_slow_end_at_ && is_ending_signal(signal)) return abandon();
  switch (signal) {
    case SIGCHLD: child_changed(); break;
    case SIGCONT:
      if (!stopped_by_us_ && held_.held()) child_->signal(SIGCONT);
      break;
    case SIGWINCH: child_->signal(SIGWINCH); break;
    default:
      passed_on_sigint_ = passed_on_sigint_ || signal == SIGINT;
      send(signal);
      // A stopped process receives the signal only after SIGCONT.
      if (signal == SIGTERM || signal == SIGHUP) child_->signal(SIGCONT);
  }
}

void watched_run::suspended() {
  if (!runs()) return;
  if (options_.suspend == run_options::on_suspend::term) terminate();
  if (options_.suspend == run_options::on_suspend::stop && !kill_at_) {
    stopped_by_us_ = true;
    send(SIGSTOP);
  }
}

void watched_run::restored() {
  if (std::exchange(stopped_by_us_, false)) child_->signal(SIGCONT);
}

loop::clock::time_point watched_run::check() {
  const auto now = loop::clock::now();
  switch (phase_) {
    case phase::starting:
      if (held_.held()) return start() ? now : now + 20ms;
      outcome_ = hold_outcome::lost;
      finish_unstarted(SIGTERM);
      return now;
    case phase::running:
    case phase::unkillable: return check_running();
    case phase::handing_over: return check_handing_over();
    case phase::ended: break;
  }
  if (!guard_) return loop::clock::time_point::max();
  check_guard();
  if (!held_.held()) kill(hold_outcome::lost);
  return now + guard_pause;
}

loop::clock::time_point watched_run::check_handing_over() {
  const auto now = loop::clock::now();
  if (!held_.held() || outcome_ != hold_outcome::kept) {
    kill(held_.held() ? outcome_ : hold_outcome::lost);
    result_.has_background_processes = false;
  } else if (descendants_.alive() && !hand_over_to_guard()) {
    return now + 20ms;
  }
  if (result_.has_background_processes) result_.background_processes = descendants_.visible();
  result_.outcome = outcome_;
  phase_ = phase::ended;
  ended_(result_);
  return now;
}

loop::clock::time_point watched_run::check_running() {
  const auto now = loop::clock::now();
  const auto guard_due = check_guard();
  if (!runs()) return now;
  const auto left = held_.remaining();
  if (!held_.held()) {
    kill(hold_outcome::lost);
    report_slow_end();
    return loop::clock::now() + 1s;
  }
  const auto at_deadline = left > without_deadline ? loop::clock::time_point::max() : now + left;
  if (phase_ == phase::unkillable) return std::min(at_deadline, guard_due);
  if (kill_at_ && now >= *kill_at_) {
    kill(hold_outcome::ended_in_time);
    return std::min(at_deadline, now + 1s);
  }
  if (left <= options_.grace) terminate();
  if (kill_at_) return std::min({*kill_at_, at_deadline, guard_due});
  return left > without_deadline ? guard_due : std::min(now + (left - options_.grace), guard_due);
}

void watched_run::terminate() {
  if (kill_at_) return;
  outcome_ = hold_outcome::ended_in_time;
  kill_at_ =
      loop::clock::now() + std::min<std::chrono::nanoseconds>(options_.grace, held_.remaining());
  send(SIGTERM);
  child_->signal(SIGCONT);
}

void watched_run::kill(hold_outcome why) {
  outcome_ = why;
  if (!kill_at_) kill_at_ = loop::clock::now();
  if (runs()) {
    // This is sent again even if we were not permitted to signal the program before. It may run as
    // our user now, or may have started processes that do.
    const auto before = phase_;
    const bool refused = child_->signal(SIGKILL) == child::delivery::refused;
    phase_ = refused ? phase::unkillable : phase::running;
    if (refused && before == phase::running && why != hold_outcome::lost) report_refused(SIGKILL);
  }
  descendants_.kill_all();
  if (phase_ == phase::unkillable && why == hold_outcome::lost) abandon();
}

void watched_run::send(int signal) {
  if (child_->signal(signal) == child::delivery::refused) report_refused(signal);
}

void watched_run::report_refused(int signal) const {
  std::cerr << "conclave: cannot send SIG" << ::sigabbrev_np(signal) << " to process "
            << child_->group() << " of the command: " << refusal << "\n";
}

void watched_run::report_slow_end() {
  if (!runs()) return;
  const auto now = loop::clock::now();
  if (!report_slow_end_at_) report_slow_end_at_ = now + 2s;
  if (now < *report_slow_end_at_) return;
  report_slow_end_at_ = loop::clock::time_point::max();
  std::cerr << "conclave: the lock or claim of the command was lost, and process "
            << child_->group()
            << " of the command was killed but has not ended yet; waiting for its end\n";
}

// The end of the program must not delay the report of the loss.
void watched_run::abandon() {
  phase_ = phase::ended;
  terminal_.take_back();
  set_guard(nullptr);
  result r;
  r.outcome = outcome_;
  r.still_running = child_->out_of_reach();
  ended_(r);
}

void watched_run::child_changed() {
  const auto change = child_->poll_change();
  if (change.what == child::change::kind::stopped) stopped(change.signal);
  if (change.what == child::change::kind::ended) finish();
}

void watched_run::stopped(int signal) {
  if (!options_.uses_terminal) return;
  const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
  if (wants_terminal && terminal_.give_to(child_->group()))
    child_->signal(SIGCONT);
  else if (wants_terminal || signal == SIGTSTP)
    stop_with_child();
}

// Stops this process, so that the shell that started it takes its terminal back. The program stays
// stopped as long as this process, and continues only if the hold is still held.
void watched_run::stop_with_child() {
  const bool had_terminal = terminal_.child_has_terminal();
  terminal_.take_back();
  ::kill(::getpid(), SIGSTOP);
  if (!held_.held()) return kill(hold_outcome::lost);
  if (had_terminal) terminal_.give_to(child_->group());
  if (!stopped_by_us_) child_->signal(SIGCONT);
}

void watched_run::finish() {
  // Without the hold, the program's background processes must not continue.
  if (!held_.held() || guard_->killed_the_command()) outcome_ = hold_outcome::lost;
  result r;
  if (outcome_ != hold_outcome::kept) {
    child_->signal(SIGKILL);
    descendants_.kill_all();
    r.still_running = child_->out_of_reach();
  }
  if (!r.still_running.empty()) outcome_ = hold_outcome::lost;
  phase_ = phase::ended;
  const bool had_terminal = terminal_.child_has_terminal();
  terminal_.take_back();
  if (descendants_.alive()) guard_->wait_until_started();
  r.has_background_processes =
      keeper_.descriptor() >= 0 && outcome_ == hold_outcome::kept && descendants_.alive();
  if (r.has_background_processes && options_.ends == run_options::hold_ends::with_program) {
    set_guard(nullptr);
    keeper_.end();
    keeper_of_guard_.end();
    r.has_background_processes = false;
  } else if (!r.has_background_processes) {
    set_guard(nullptr);
  }
  kill_on_loss_.program_ended();
  if (guard_) guard_->command_ended();
  r.code = child_->reap();
  r.interrupted = (had_terminal || passed_on_sigint_) && r.code == 128 + SIGINT;
  // The terminal has signalled only the program's group.
  if (had_terminal && r.interrupted) ::kill(0, SIGINT);
  r.outcome = outcome_;
  if (!r.has_background_processes) return ended_(r);
  phase_ = phase::handing_over;
  result_ = r;
  check();
}

void watched_run::finish_unstarted(int signal) {
  phase_ = phase::ended;
  result r;
  r.code = 128 + signal;
  r.outcome = outcome_;
  r.interrupted = signal == SIGINT;
  ended_(r);
}

std::string background_notice(const std::vector<pid_t>& processes, const std::string& what) {
  if (processes.empty()) return "background processes of the command still hold " + what;
  const bool one = processes.size() == 1;
  return std::string{"background "} + names_of(processes) + " of the command still hold" +
         (one ? "s " : " ") + what;
}

std::vector<std::pair<std::string, std::string>> environment_of(const hold& held) {
  return {{"CONCLAVE_LOCK_NODE", held.node()},
          {"CONCLAVE_FENCING_TOKEN", std::to_string(held.fencing_token())},
          {"CONCLAVE_SESSION_ID", std::to_string(held.session_id())}};
}

void exit_without_closing_session(int code) {
  if (code < 0) die_of(-code);
  std::cout.flush();
  ::_exit(code);
}

}  // namespace conclave::cli
