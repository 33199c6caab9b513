// `conclave elect`: runs a command while this candidate leads, or reports the leader.
#include <unistd.h>

#include <iostream>

#include "cli/commands/commands.hpp"
#include "cli/connect/connection.hpp"
#include "cli/exit_code.hpp"
#include "cli/run/corrected_command_line.hpp"
#include "cli/run/election_layout.hpp"
#include "cli/run/held_locks.hpp"
#include "cli/run/left_behind.hpp"
#include "cli/run/loop.hpp"
#include "cli/run/run_flags.hpp"
#include "cli/run/watched_run.hpp"
#include "cli/show/candidate.hpp"
#include "cli/show/node.hpp"
#include "cli/show/waiting_line.hpp"
#include "conclave/election.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

struct elect_flags {
  connect_flags connect;
  run_flags run;
  std::string path, layout = default_election_layout;
  std::vector<std::string> stray;
  bool once = false, forever = false, observe = false, json = false, quiet = false;
};

void add_flags(CLI::App& app, elect_flags& f) {
  app.description(
      "Run a command while this candidate leads. The candidates are all programs with the same "
      "path.");
  app.footer(
      "Examples:\n"
      "  conclave elect mailer -- ./send-mails         (once: ends with the command)\n"
      "  conclave elect --forever mailer -- ./serve    (campaigns again after each end)\n"
      "  conclave elect --observe mailer               (prints a line for each new leader)\n"
      "\n"
      "The environment of the command contains CONCLAVE_ELECTION_PATH, CONCLAVE_LEADER_ID,\n"
      "CONCLAVE_FENCING_TOKEN, CONCLAVE_LOCK_NODE, CONCLAVE_SESSION_ID and CONCLAVE_HELD. Before\n"
      "leadership is lost, the command gets SIGTERM, and SIGKILL if it does not end in time.\n"
      "Exit codes: that of the command; 128 + N if signal N ended the command or conclave; 64 "
      "usage;\n"
      "69 no server; 75 leadership lost; 77 refused by an ACL; 78 other candidates use another\n"
      "layout; 126, 127 the command cannot be run. With --observe: 0 after a signal.");
  app.add_option("PATH", f.path, "path of the election; without a leading /, it is below /conclave")
      ->required();
  app.add_option("COMMAND", f.stray)->group("");
  app.add_flag("--once", f.once, "end with the command and its exit code (the default)");
  app.add_flag("--forever", f.forever,
               "campaign again after the command has ended or leadership was lost, until a signal")
      ->excludes("--once");
  app.add_flag("--observe", f.observe, "run no command; print the current leader and every change")
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

class electing {
 public:
  electing(elect_flags& f, program what)
      : flags_{f},
        what_{std::move(what)},
        path_{node_path(f.path)},
        connection_{find_server(f.connect), connection::without_waiting{}} {
    election_options o;
    o.layout = election_layout(f.layout);
    o.id = f.run.label.empty() ? default_id() : f.run.label;
    o.on_suspended = [this](const hold&) {
      loop_.post([this] {
        if (running_) running_->suspended();
      });
    };
    o.on_restored = [this](const hold&) {
      loop_.post([this] {
        if (running_) running_->restored();
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
    waiting_.reset();
    if (keep_) leave_session(code);
    if (running_) connection_.see_server_alive();
    return code;
  }

 private:
  // Limits how often a command that ends at once is started.
  static constexpr auto shortest_round = 1s;

  // Refuses to wait for an election whose leader is the `conclave` that runs this command.
  void refuse_own_election() {
    const auto ahead =
        above_.before({held_lock::kind::election, connection_.at().hosts, {path_}, {}, 0});
    if (ahead.empty()) return campaign();
    connection_.zk().async_exists(
        ahead.back().node,
        [this, owner = ahead.back().session](error_code ec, std::optional<node_stat> found) {
          const bool held = !ec && found && found->ephemeral_owner == owner;
          loop_.post([this, held] {
            if (!held) return campaign();
            throw failure{usage, "elect " + flags_.path +
                                     ": the leader of this election runs this command, which would "
                                     "wait for itself; use another path"};
          });
        });
  }

  void campaign() {
    again_at_.reset();
    election_->async_campaign([this](error_code ec) { loop_.post([this, ec] { answered(ec); }); });
    const bool verbose = connection_.at().verbose;
    if (!flags_.quiet && (verbose || in_foreground()))
      waiting_.emplace(connection_.zk(),
                       waiting_line::subject{flags_.path, path_, election_layout(flags_.layout),
                                             connection_.at().hosts},
                       verbose ? waiting_line::form::log : waiting_line::form::one_line);
  }

  void answered(error_code ec) {
    waiting_.reset();
    if (ec == errc::not_connected && flags_.forever) return once_more("no connection to a server");
    if (ec == errc::layout_mismatch)
      throw election_disagreement(connection_.zk(), "elect", path_, flags_.layout);
    if (ec == errc::no_node) connection_.require_chroot();
    if (ec) throw error{ec, "election " + flags_.path};
    held_ = election_->hold();
    what_.environment = environment_of(held_);
    what_.environment.emplace_back("CONCLAVE_ELECTION_PATH", path_);
    what_.environment.emplace_back("CONCLAVE_LEADER_ID", election_->id());
    what_.environment.push_back(above_.with(
        held_lock::of(held_, held_lock::kind::election, connection_.at().hosts, {path_})));
    began_ = loop::clock::now();
    result_.reset();
    running_.emplace(loop_, what_, connection_.zk(), held_, flags_.run.options(connection_),
                     [this](const watched_run::result& r) { result_ = r; });
  }

  void once_more(const std::string& why) {
    std::cerr << "conclave: " << why << "; campaigning again\n";
    again_at_ = loop::clock::now() + shortest_round;
  }

  // Called after the command has ended. With --forever, called again while descendants of the
  // command are alive.
  void after_run() {
    const auto r = *result_;
    if (!flags_.forever) {
      if (!r.kept()) std::cerr << "conclave: " << r.explanation("leadership") << "\n";
      keep_ = r.left_something && r.kept();
      if (r.interrupted && r.kept()) return loop_.end_by(SIGINT);
      return loop_.end(r.kept() ? r.code : lost);
    }
    // The next leader must not start while descendants of this command are alive.
    const bool left = r.left_something && held_.held() && running_->left_something();
    if (r.interrupted) ended_by_ = SIGINT;
    if (ended_by_ != 0) {
      keep_ = left;
      return loop_.end_by(ended_by_);
    }
    if (left) return;
    running_.reset();
    election_->resign();
    if (!r.kept()) return once_more(r.explanation("leadership"));
    again_at_ = std::max(loop::clock::now(), began_ + shortest_round);
  }

  void on_signal(int s) {
    if (ends_us(s)) ended_by_ = s;
    if (running_ && !result_) return running_->pass_on(s);
    stop_us_by(s);
    if (ends_us(s) && !running_) loop_.end_by(s);
  }

  loop::clock::time_point on_turn() {
    if (!connection_.connected()) return loop::clock::now() + 50ms;
    if (running_) {
      const auto next = running_->check();
      if (result_) after_run();
      if (running_) return next;
    }
    if (!again_at_) return loop::clock::time_point::max();
    if (loop::clock::now() < *again_at_) return *again_at_;
    campaign();
    return loop::clock::time_point::max();
  }

  elect_flags& flags_;
  program what_;
  std::string path_;
  loop loop_;  // must be created before the first thread, which the connection starts
  connection connection_;
  std::optional<election> election_;
  std::optional<waiting_line> waiting_;
  hold held_;
  const held_locks above_ = held_locks::from_environment();
  std::optional<watched_run> running_;
  std::optional<watched_run::result> result_;  // of the command that has ended
  loop::clock::time_point began_;
  std::optional<loop::clock::time_point> again_at_;
  int ended_by_ = 0;  // a signal number
  bool keep_ = false;
};

void tell(const std::optional<contender_info>& leader, bool as_json) {
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
  loop until_signal;
  until_signal.on_signal([&](int s) {
    stop_us_by(s);
    if (ends_us(s)) until_signal.end(ok);
  });
  connection c{f.connect};
  const election_observer observer{
      c.zk(), node_path(f.path),
      [&](const std::optional<contender_info>& leader) {
        until_signal.post([&f, leader] {
          tell(leader, f.json);
          if (!std::cout)
            throw failure{failed, "cannot write to stdout; the reader may have exited"};
        });
      },
      election_layout(f.layout)};
  return until_signal.run();
}

int run(elect_flags& f, const invocation& call) {
  auto what = f.run.program_of(call);
  if (f.observe && (what || !f.stray.empty()))
    throw failure{usage, "--observe runs no command; leave out one of them"};
  if (f.observe) return observe(f);
  if (!what || !f.stray.empty())
    throw failure{usage, "put the command after --, or use --observe; try: " +
                             corrected_command_line(*call.command, call.words)};
  electing e{f, std::move(*what)};
  return e.run();
}

}  // namespace

void describe_elect(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<elect_flags>();
  add_flags(app, *flags);
  when_used(app, call, flags, run);
}

}  // namespace conclave::cli
