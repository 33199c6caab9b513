// `conclave lock`: runs a command while holding a lock.
#include <algorithm>
#include <iostream>

#include "cli/command.hpp"
#include "cli/connect/connection.hpp"
#include "cli/exit_code.hpp"
#include "cli/raw_arguments.hpp"
#include "cli/run/held_locks.hpp"
#include "cli/run/inherited_task.hpp"
#include "cli/run/loop.hpp"
#include "cli/run/requested_lock.hpp"
#include "cli/run/run_flags.hpp"
#include "cli/run/watched_run.hpp"
#include "cli/show/duration.hpp"
#include "cli/show/json.hpp"
#include "cli/show/wait_status.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

struct lock_flags {
  connect_flags connect;
  run_flags run;
  std::vector<std::string> paths;
  std::optional<std::string> wait;
  std::string layout = default_layout, on_revoke = "ignore";
  std::size_t permits = 0;
  int conflict_code = failed;
  bool shared = false, nonblock = false, hold = false, quiet = false;
};

void add_flags(CLI::App& app, lock_flags& f) {
  app.description("Run a command while holding a lock, as flock does, on one or more machines.");
  app.footer(
      "Examples:\n"
      "  conclave lock backups/db -- ./backup.sh\n"
      "  conclave lock -n nightly -c 'make clean && make'        (does not wait)\n"
      "  conclave lock -w 30 --permits 4 render -- ./render.sh   (four at a time)\n"
      "  conclave lock accounts/1 accounts/2 -- ./transfer.sh    (both or none)\n"
      "\n"
      "The environment of the command contains CONCLAVE_LOCK_PATH, CONCLAVE_LOCK_NODE,\n"
      "CONCLAVE_FENCING_TOKEN, CONCLAVE_SESSION_ID and CONCLAVE_HELD.\n"
      "Exit codes: the exit code of the command; 128 + N if signal N ended it; 1 (or -E) not\n"
      "acquired; 64 usage; 69 no server; 75 lock lost; 77 refused by an ACL; 78 other programs\n"
      "use the path with another layout or number of permits; 126, 127 the command cannot be run.");
  add_raw_arguments(app, "PATH", f.paths,
                    "path of the lock; without a leading /, it is below /conclave")
      ->required();
  app.add_flag("-s,--shared", f.shared, "share the lock with other --shared holders");
  app.add_flag("-x,-e,--exclusive")
      ->description("hold the lock alone (the default)")
      ->excludes("--shared");
  app.add_flag("-n,--nonblock", f.nonblock, "give up at once if the lock is held");
  app.add_option("-w,--wait", f.wait, "give up after this time")
      ->type_name("SECONDS")
      ->excludes("--nonblock");
  app.add_option("-E,--conflict-exit-code", f.conflict_code,
                 "exit code if the lock was not acquired")
      ->type_name("N")
      ->check(CLI::Range{0, 255});
  app.add_option("--permits", f.permits,
                 "number of holders at a time; all users of the path must pass the same number")
      ->type_name("N")
      ->check(CLI::Range{1, 1'000'000});
  app.add_option("--layout", f.layout,
                 "names of nodes, to share the lock with other programs: curator, kazoo, "
                 "zookeeper, or a prefix of your own")
      ->type_name("L")
      ->capture_default_str();
  app.add_flag(
      "--hold", f.hold,
      "run no command; print a line of JSON when the lock is held, and hold it until a signal");
  app.add_option(
         "--on-revoke", f.on_revoke,
         "what to do on a request to release the lock (conclave revoke): ignore, or term (send "
         "SIGTERM to the command; with --hold, release the lock)")
      ->check(CLI::IsMember({"term", "ignore"}))
      ->capture_default_str();
  app.add_flag("-q,--quiet", f.quiet, "print nothing while waiting");
  add_run_flags(app, f.run);
  add_connect_flags(app, f.connect);
}

// Returns the requested lock, without callbacks. Throws failure for contradictory flags.
requested_lock::description description_of(const lock_flags& f) {
  requested_lock::description d;
  for (const auto& p : f.paths) d.paths.push_back(node_path(p));
  d.shared = f.shared;
  d.permits = f.permits;
  d.options.layout = parse_layout(f.layout);
  d.options.owner = f.run.label;
  requested_lock::check(d);
  return d;
}

std::optional<std::chrono::milliseconds> limit_of(const lock_flags& f) {
  if (f.nonblock) return 0ms;
  if (!f.wait) return {};
  return parse_duration(*f.wait);
}

class lock_run {
 public:
  lock_run(lock_flags& f, std::optional<program> what, requested_lock::description requested,
           std::optional<std::chrono::milliseconds> limit)
      : flags_{f},
        program_{std::move(what)},
        requested_{std::move(requested)},
        limit_{limit},
        connection_{find_server(f.connect), connection::without_waiting{}} {
    make_lock();
  }

  int run() {
    loop_.on_signal([this](int s) { on_signal(s); });
    loop_.on_turn([this] { return on_turn(); });
    if (!limit_)
      refuse_own_lock();
    else
      acquire();
    const bool verbose = connection_.at().verbose;
    if (!flags_.quiet && !flags_.nonblock && (verbose || in_foreground()))
      wait_status_.emplace(connection_.zk(), wait_subject(),
                           verbose ? wait_status::form::log : wait_status::form::one_line);
    const int code = loop_.run();
    wait_status_.reset();
    if (keeps_session_) {
      connection_.flush_messages();
      exit_without_closing_session(code);
    }
    if (held_.held()) connection_.await_own_server();
    return code;
  }

 private:
  void make_lock() {
    auto d = requested_;
    d.options.on_suspended = [this](const hold&) { loop_.post([this] { suspended(); }); };
    d.options.on_restored = [this](const hold&) { loop_.post([this] { restored(); }); };
    d.options.on_lost = [this](const hold&, error_code) { loop_.post([] {}); };
    d.options.held_while_waiting = [this] { return inherited_task_.holds(); };
    // Set this callback only if needed, because the library needs an extra read to report
    // revocations.
    if (flags_.on_revoke == "term")
      d.options.on_revocation = [this](const hold&) { loop_.post([this] { revoked(); }); };
    lock_ = requested_lock::make(connection_.zk(), std::move(d));
  }

  held_lock::kind kind() const {
    if (requested_.permits != 0) return held_lock::kind::permit;
    return requested_.shared ? held_lock::kind::shared : held_lock::kind::exclusive;
  }

  void acquire() {
    began_waiting_ = loop::clock::now();
    acquire(limit_);
  }
  void acquire(std::optional<std::chrono::milliseconds> limit) {
    acquiring_ = true;
    lock_->acquire(limit, [this, attempt = attempt_](error_code ec, bool acquired) {
      // This is the state at the expiry. The loop may run only after a reconnect.
      const bool no_server =
          !ec && !acquired && connection_.zk().state() != session_state::connected;
      loop_.post([this, attempt, ec, acquired, no_server] {
        if (attempt == attempt_) on_acquire_end(ec, acquired, no_server);
      });
    });
  }

  // A stopped waiter that becomes the first in the wait queue would block those behind it. So it
  // leaves the wait queue before it stops, and then enters it again at the end.
  void stop_while_waiting() {
    ++attempt_;
    lock_.reset();
    connection_.await_sent_requests();
    stop_on_ctrl_z(SIGTSTP);
    make_lock();
    if (!limit_) return acquire(std::nullopt);
    const auto waited =
        std::chrono::duration_cast<std::chrono::milliseconds>(loop::clock::now() - began_waiting_);
    acquire(std::max(*limit_ - waited, 0ms));
  }

  // Refuses to wait without a limit for a lock that is held by the `conclave` that runs this
  // command.
  void refuse_own_lock() {
    const auto blocking_locks =
        inherited_locks_.blocking({kind(), connection_.at().hosts, requested_.paths, {}, 0});
    if (blocking_locks.size() < std::max<std::size_t>(requested_.permits, 1)) return acquire();
    unchecked_locks_ = blocking_locks.size();
    const auto& paths = blocking_locks.front().paths;
    own_path_ = *std::find_first_of(paths.begin(), paths.end(), requested_.paths.begin(),
                                    requested_.paths.end());
    for (const auto& l : blocking_locks)
      connection_.zk().async_exists(
          l.node, [this, owner = l.session](error_code ec, std::optional<node_stat> found) {
            const bool held = !ec && found && found->ephemeral_owner == owner;
            loop_.post([this, held] { on_lock_checked(held); });
          });
  }

  void on_lock_checked(bool held) {
    if (held) ++still_held_;
    if (--unchecked_locks_ != 0) return;
    if (still_held_ < std::max<std::size_t>(requested_.permits, 1)) return acquire();
    throw failure{usage, "lock " + own_path_ +
                             ": this command runs under the same lock and would wait for itself; "
                             "acquire it only once, or limit the wait (-n, -w)"};
  }

  wait_status::subject wait_subject() const {
    return {flags_.paths.front(), requested_.paths.front(), requested_.options.layout,
            requested_.permits, connection_.at().hosts};
  }

  void on_acquire_end(error_code ec, bool acquired, bool no_server) {
    acquiring_ = false;
    wait_status_.reset();
    if (ec == errc::layout_mismatch || ec == errc::permits_mismatch)
      throw disagreement(connection_.zk(), requested_, ec);
    if (ec == errc::no_node) connection_.require_chroot();
    if (ec) throw error{ec, "lock " + flags_.paths.front()};
    if (!acquired) {
      if (!no_server) return not_acquired();
      expired_at_ = loop::clock::now();
      return;
    }
    held_ = lock_->hold();
    if (!program_) {
      show_held();
      return;
    }
    program_->environment = environment_of(held_);
    // If there are several paths, this is the path that contains the node.
    program_->environment.emplace_back(
        "CONCLAVE_LOCK_PATH", *std::min_element(requested_.paths.begin(), requested_.paths.end()));
    program_->environment.push_back(inherited_locks_.with(
        held_lock::of(held_, kind(), connection_.at().hosts, requested_.paths)));
    program_->environment.push_back(inherited_task_.with(held_));
    run_.emplace(loop_, *program_, connection_.zk(), held_, flags_.run.options(connection_),
                 [this](const watched_run::result& r) { ended(r); });
  }

  void show_held() const {
    json::object o;
    o["path"] = requested_.paths.front();
    o["node"] = held_.node();
    add_number(o, "fencing_token", held_.fencing_token());
    add_session(o, held_.session_id());
    print(o);
    if (!std::cout.flush())
      throw failure{cannot_write, "cannot write to standard output; the lock was released"};
  }

  void ended(const watched_run::result& r) {
    if (!r.kept()) std::cerr << "conclave: " << r.explanation("the lock") << "\n";
    keeps_session_ = r.has_background_processes && r.kept();
    if (keeps_session_ && (connection_.at().verbose || (!flags_.quiet && in_foreground())))
      std::cerr << "conclave: " << background_notice(r.background_processes, "the lock") << "\n";
    if (r.interrupted && r.kept()) return loop_.end_by(SIGINT);
    loop_.end(r.kept() ? r.code : lost);
  }

  void on_signal(int s) {
    if (run_) return run_->pass_on(s);
    if (s == SIGTSTP && acquiring_) return stop_while_waiting();
    stop_on_ctrl_z(s);
    if (!is_ending_signal(s)) return;
    // With --hold, a signal is the normal end. During the wait, a signal is an interruption.
    if (!program_ && held_.held()) return loop_.end(ok);
    loop_.end_by(s);
  }

  void not_acquired() {
    if (!flags_.quiet && (connection_.at().verbose || in_foreground()))
      std::cerr << "conclave: lock " << flags_.paths.front() << ": not acquired"
                << (flags_.nonblock ? "" : " within " + short_time(*limit_)) << "\n";
    loop_.end(flags_.conflict_code);
  }

  // Without a connection at the expiry, the reason may be the missing server.
  loop::clock::time_point after_expiry() {
    if (!connection_.connected_after(*expired_at_)) return loop::clock::now() + 10ms;
    expired_at_.reset();
    acquire(0ms);
    return loop::clock::time_point::max();
  }

  loop::clock::time_point on_turn() {
    if (expired_at_) return after_expiry();
    if (!connection_.connected()) return loop::clock::now() + 50ms;
    if (run_) return run_->check();
    if (!program_ && held_.fencing_token() != 0) {
      if (!held_.held()) {
        std::cerr << "conclave: the lock was lost\n";
        loop_.end(lost);
      }
      const auto left = held_.remaining();
      if (left < 24h) return loop::clock::now() + left;
    }
    return loop::clock::time_point::max();
  }

  void suspended() {
    if (run_) run_->suspended();
  }
  void restored() {
    if (run_) run_->restored();
  }

  // Before the grant is known, a revocation has no effect.
  void revoked() {
    if (run_) return run_->pass_on(SIGTERM);
    if (!program_ && held_.held()) loop_.end(ok);
  }

  lock_flags& flags_;
  std::optional<program> program_;
  const requested_lock::description requested_;
  const std::optional<std::chrono::milliseconds> limit_;
  loop loop_;  // must be created before any other thread; the connection starts one
  connection connection_;
  const held_locks inherited_locks_ = held_locks::from_environment();
  const inherited_task inherited_task_ = inherited_task::from_environment();
  std::unique_ptr<requested_lock> lock_;
  bool acquiring_ = false;
  int attempt_ = 0;  // results of earlier attempts to acquire the lock are ignored
  loop::clock::time_point began_waiting_;
  std::optional<wait_status> wait_status_;
  hold held_;
  std::size_t unchecked_locks_ = 0, still_held_ = 0;   // of inherited_locks_
  std::string own_path_;                               // a path of the first of these locks
  std::optional<loop::clock::time_point> expired_at_;  // set if there was no connection then
  std::optional<watched_run> run_;
  bool keeps_session_ = false;
};

int run(lock_flags& f, const invocation& call) {
  std::optional<program> what = f.run.program_of(call);
  if (f.hold && what) throw failure{usage, "--hold runs no command; leave out one of them"};
  // Without the check, `conclave lock x sh -c 'echo hello'` would lock a second path named sh.
  const bool several_paths_with_line = f.run.shell_line && f.paths.size() > 1;
  if ((!f.hold && !what) || several_paths_with_line)
    throw failure{usage, "put the command after --, or use --hold; try: " +
                             corrected_command_line(*call.command, call.words)};
  // Wrong flags fail here, before a server is started.
  lock_run l{f, std::move(what), description_of(f), limit_of(f)};
  return l.run();
}

}  // namespace

void describe_lock(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<lock_flags>();
  add_flags(app, *flags);
  when_used(app, call, flags, run);
}

}  // namespace conclave::cli
