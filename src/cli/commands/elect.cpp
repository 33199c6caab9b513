// `conclave elect`: runs a command while this candidate leads, or reports the leader.
#include <unistd.h>

#include <future>
#include <iostream>
#include <memory>

#include "cli/command.hpp"
#include "cli/connect/connection.hpp"
#include "cli/exit_code.hpp"
#include "cli/run/election_layout.hpp"
#include "cli/run/held_locks.hpp"
#include "cli/run/loop.hpp"
#include "cli/run/run_flags.hpp"
#include "cli/run/watched_run.hpp"
#include "cli/show/contender.hpp"
#include "cli/show/node.hpp"
#include "cli/show/wait_status.hpp"
#include "conclave/election.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

struct elect_flags {
  connect_flags connect;
  run_flags run;
  std::string path, layout = default_election_layout;
  std::vector<std::string> stray;
  enum class mode { once, forever, observe } what = mode::once;
  bool json = false, quiet = false;

  bool forever() const noexcept { return what == mode::forever; }
};

void add_flags(CLI::App& app, elect_flags& f) {
  app.description(
      "Compete for leadership with the other candidates at PATH, and run a command while leading.");
  app.footer(
      "Examples:\n"
      "  conclave elect mailer -- ./send-mails         (ends with the command)\n"
      "  conclave elect --forever mailer -- ./serve    (campaigns again after each run)\n"
      "  conclave elect --observe mailer               (prints a line for each change)\n"
      "\n"
      "The environment of the command contains CONCLAVE_ELECTION_PATH, CONCLAVE_LEADER_ID,\n"
      "CONCLAVE_FENCING_TOKEN, CONCLAVE_LOCK_NODE, CONCLAVE_SESSION_ID and CONCLAVE_HELD.\n"
      "Before leadership is lost, the command gets SIGTERM, and SIGKILL if it does not end in\n"
      "time.\n"
      "Exit codes: the exit code of the command; 128 + N if signal N ended the command or\n"
      "conclave; 64 usage; 69 no server; 75 leadership lost; 77 refused by an ACL; 78 other\n"
      "candidates use another layout; 126, 127 the command cannot be run. With --observe: 0\n"
      "after a signal.");
  app.add_option("PATH", f.path, "path of the election; without a leading /, it is below /conclave")
      ->required();
  app.add_option("COMMAND", f.stray)->group("");
  app.add_flag("--once")->description(
      "end when the command ends, with its exit code (the default)");
  app.add_flag_callback(
         "--forever", [&f] { f.what = elect_flags::mode::forever; },
         "campaign again after the command has ended or leadership was lost; end only after a "
         "signal")
      ->excludes("--once");
  app.add_flag_callback(
         "--observe", [&f] { f.what = elect_flags::mode::observe; },
         "run no command; print the current leader and every change")
      ->excludes("--once")
      ->excludes("--forever");
  app.add_flag("--json", f.json, "with --observe: one line of JSON for each change")
      ->needs("--observe");
  app.add_flag("-q,--quiet", f.quiet, "print nothing while waiting");
  add_election_layout(app, f.layout);
  add_run_flags(app, f.run);
  app.remove_option(app.get_option("--label"));
  app.add_option("--id,--label", f.run.label, "id of this candidate (default: host and process)")
      ->type_name("ID");
  add_connect_flags(app, f.connect);
}

std::string default_id() {
  std::string host(256, '\0');
  if (::gethostname(host.data(), host.size() - 1) != 0) host.clear();
  host.resize(host.find('\0') == std::string::npos ? host.size() : host.find('\0'));
  return host + ':' + std::to_string(::getpid());
}

class election_run {
 public:
  election_run(elect_flags& f, program what)
      : flags_{f},
        program_{std::move(what)},
        path_{node_path(f.path)},
        connection_{find_server(f.connect), connection::without_waiting{}} {
    election_options o;
    o.layout = election_layout(f.layout);
    o.id = f.run.label.empty() ? default_id() : f.run.label;
    o.on_suspended = [this](const hold&) {
      loop_.post([this] {
        if (run_) run_->suspended();
      });
    };
    o.on_restored = [this](const hold&) {
      loop_.post([this] {
        if (run_) run_->restored();
      });
    };
    o.on_lost = [this](const hold&, error_code) { loop_.post([] {}); };
    election_.emplace(connection_.zk(), path_, std::move(o));
  }

  int run() {
    loop_.on_signal([this](int s) { on_signal(s); });
    loop_.on_turn([this] { return on_turn(); });
    refuse_own_election();
    const int code = loop_.run();
    wait_status_.reset();
    if (keeps_session_) {
      connection_.flush_messages();
      exit_without_closing_session(code);
    }
    if (run_) connection_.await_own_server();
    return code;
  }

 private:
  // Limits how often a command is started if it ends at once.
  static constexpr auto shortest_term = 1s;

  // Refuses to wait for an election whose leader is the `conclave` that runs this command.
  void refuse_own_election() {
    const auto blocking_locks = inherited_locks_.blocking(
        {held_lock::kind::election, connection_.at().hosts, {path_}, {}, 0});
    if (blocking_locks.empty()) return campaign();
    connection_.zk().async_exists(
        blocking_locks.back().node, [this, owner = blocking_locks.back().session](
                                        error_code ec, std::optional<node_stat> found) {
          const bool held = !ec && found && found->ephemeral_owner == owner;
          loop_.post([this, held] {
            if (!held) return campaign();
            throw failure{usage,
                          "elect " + flags_.path +
                              ": this command runs under the leader of the same election and "
                              "would wait for itself; use another path"};
          });
        });
  }

  void campaign() {
    campaign_at_.reset();
    campaigning_ = true;
    election_->async_campaign([this, attempt = attempt_](error_code ec) {
      loop_.post([this, attempt, ec] {
        if (attempt == attempt_) on_campaign_end(ec);
      });
    });
    const bool verbose = connection_.at().verbose;
    if (!flags_.quiet && (verbose || in_foreground()))
      wait_status_.emplace(connection_.zk(),
                           wait_status::subject{flags_.path, path_, election_layout(flags_.layout),
                                                0, connection_.at().hosts},
                           verbose ? wait_status::form::log : wait_status::form::one_line);
  }

  // A stopped candidate that becomes the first one would block those behind it. So it withdraws
  // before it stops, and then campaigns again.
  void stop_while_campaigning() {
    ++attempt_;
    const auto withdrawn = std::make_shared<std::promise<void>>();
    auto confirmed = withdrawn->get_future();
    election_->async_resign([withdrawn](error_code) { withdrawn->set_value(); });
    confirmed.wait_for(1s);
    stop_on_ctrl_z(SIGTSTP);
    wait_status_.reset();
    campaign();
  }

  void on_campaign_end(error_code ec) {
    campaigning_ = false;
    wait_status_.reset();
    if (ec == errc::not_connected && flags_.forever()) {
      campaign_at_ = loop::clock::now() + shortest_term;
      if (!std::exchange(reported_disconnect_, true))
        std::cerr << "conclave: no connection to a server; waiting for it\n";
      return;
    }
    reported_disconnect_ = false;
    if (ec == errc::layout_mismatch)
      throw election_disagreement(connection_.zk(), "elect", path_, flags_.layout);
    if (ec == errc::no_node) connection_.require_chroot();
    if (ec) throw error{ec, "election " + flags_.path};
    held_ = election_->hold();
    program_.environment = environment_of(held_);
    program_.environment.emplace_back("CONCLAVE_ELECTION_PATH", path_);
    program_.environment.emplace_back("CONCLAVE_LEADER_ID", election_->id());
    program_.environment.push_back(inherited_locks_.with(
        held_lock::of(held_, held_lock::kind::election, connection_.at().hosts, {path_})));
    started_at_ = loop::clock::now();
    result_.reset();
    run_.emplace(loop_, program_, connection_.zk(), held_, flags_.run.options(connection_),
                 [this](const watched_run::result& r) { result_ = r; });
  }

  void campaign_again_later(const std::string& why) {
    std::cerr << "conclave: " << why << "; campaigning again\n";
    campaign_at_ = loop::clock::now() + shortest_term;
  }

  // With --forever, a command that cannot be started because of the server is tried again.
  loop::clock::time_point check_run() {
    try {
      return run_->check();
    } catch (const failure& e) {
      if (!flags_.forever() || e.code != unavailable) throw;
      run_.reset();
      election_->resign();
      campaign_again_later(e.what());
      return *campaign_at_;
    }
  }

  // Called after the command has ended. With --forever, called again while descendants of the
  // command are alive.
  void after_run() {
    const auto r = *result_;
    // The next command must not run beside a command that we are not permitted to kill.
    if (!flags_.forever() || !r.still_running.empty()) {
      if (!r.kept()) std::cerr << "conclave: " << r.explanation("leadership") << "\n";
      keeps_session_ = r.has_background_processes && r.kept();
      if (keeps_session_ && (connection_.at().verbose || (!flags_.quiet && in_foreground())))
        std::cerr << "conclave: " << background_notice(r.background_processes, "the leadership")
                  << "\n";
      if (r.interrupted && r.kept()) return loop_.end_by(SIGINT);
      return loop_.end(r.kept() ? r.code : lost);
    }
    // The next leader must not start while descendants of this command are alive.
    const bool left =
        r.has_background_processes && held_.held() && run_->has_background_processes();
    if (r.interrupted) ended_by_ = SIGINT;
    if (ended_by_ != 0) {
      keeps_session_ = left;
      return loop_.end_by(ended_by_);
    }
    if (left) return;
    run_.reset();
    election_->resign();
    if (!r.kept()) return campaign_again_later(r.explanation("leadership"));
    campaign_at_ = std::max(loop::clock::now(), started_at_ + shortest_term);
  }

  void on_signal(int s) {
    if (is_ending_signal(s)) ended_by_ = s;
    if (run_ && !result_) return run_->pass_on(s);
    if (s == SIGTSTP && campaigning_) return stop_while_campaigning();
    stop_on_ctrl_z(s);
    if (is_ending_signal(s) && !run_) loop_.end_by(s);
  }

  loop::clock::time_point on_turn() {
    if (!connection_.connected()) return loop::clock::now() + 50ms;
    if (run_) {
      const auto next = check_run();
      if (result_) after_run();
      if (run_) return next;
    }
    if (!campaign_at_) return loop::clock::time_point::max();
    if (loop::clock::now() < *campaign_at_) return *campaign_at_;
    campaign();
    return loop::clock::time_point::max();
  }

  elect_flags& flags_;
  program program_;
  std::string path_;
  loop loop_;  // must be created before any other thread; the connection starts one
  connection connection_;
  std::optional<election> election_;
  bool campaigning_ = false;
  int attempt_ = 0;  // results of earlier campaigns are ignored
  std::optional<wait_status> wait_status_;
  hold held_;
  const held_locks inherited_locks_ = held_locks::from_environment();
  std::optional<watched_run> run_;
  std::optional<watched_run::result> result_;  // of the command that has ended
  loop::clock::time_point started_at_;
  std::optional<loop::clock::time_point> campaign_at_;
  bool reported_disconnect_ = false;  // the lost connection was reported
  int ended_by_ = 0;                  // a signal number
  bool keeps_session_ = false;
};

void print_leader(const std::optional<contender_info>& leader, bool as_json) {
  using namespace std::chrono;
  const auto now = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  if (as_json) {
    json::object o{{"leader", nullptr}};
    add_time(o, "time", now);
    if (leader) o["leader"] = candidate_json(*leader);
    print(o);
    return;
  }
  std::cout << short_date(now) << "  ";
  if (leader)
    std::cout << candidate_name(*leader) << " leads, token " << leader->fencing_token << "\n";
  else
    std::cout << "nobody leads\n";
  std::cout.flush();
}

int observe(const elect_flags& f) {
  loop events;
  events.on_signal([&](int s) {
    stop_on_ctrl_z(s);
    if (is_ending_signal(s)) events.end(ok);
  });
  connection c{f.connect};
  const election_observer observer{
      c.zk(), node_path(f.path),
      [&](const std::optional<contender_info>& leader) {
        events.post([&f, leader] {
          print_leader(leader, f.json);
          if (!std::cout)
            throw failure{cannot_write, "cannot write to stdout; the reader may have exited"};
        });
      },
      election_layout(f.layout)};
  return events.run();
}

int run(elect_flags& f, const invocation& call) {
  auto what = f.run.program_of(call);
  const bool observes = f.what == elect_flags::mode::observe;
  if (observes && (what || !f.stray.empty()))
    throw failure{usage, "--observe runs no command; leave out one of them"};
  if (observes) return observe(f);
  if (!what || !f.stray.empty())
    throw failure{usage, "put the command after --, or use --observe; try: " +
                             corrected_command_line(*call.command, call.words)};
  election_run e{f, std::move(*what)};
  return e.run();
}

}  // namespace

void describe_elect(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<elect_flags>();
  add_flags(app, *flags);
  when_used(app, call, flags, run);
}

}  // namespace conclave::cli
