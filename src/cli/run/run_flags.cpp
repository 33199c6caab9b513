#include "cli/run/run_flags.hpp"

#include <iostream>

#include "cli/exit_code.hpp"
#include "cli/show/duration.hpp"
#include "conclave/boot_clock.hpp"
#include "conclave/connect_string.hpp"

namespace conclave::cli {

using namespace std::chrono_literals;

void add_run_flags(CLI::App& app, run_flags& f) {
  app.add_option("-c,--command", f.line, "run this line with /bin/sh instead of a command after --")
      ->type_name("STRING");
  app.add_option("--label", f.label,
                 "name of this contender in `conclave status` (default: host and process)")
      ->type_name("TEXT");
  app.add_option("--on-suspend", f.on_suspend,
                 "when the connection is lost: ignore it until the deadline is near; stop the "
                 "command until the connection is restored; or term: send SIGTERM")
      ->check(CLI::IsMember({"term", "stop", "ignore"}))
      ->capture_default_str();
  app.add_option("--kill-after", f.kill_after,
                 "time from SIGTERM to SIGKILL before the lock is lost; at most a quarter of the "
                 "session timeout")
      ->type_name("TIME")
      ->capture_default_str();
}

std::optional<program> run_flags::program_of(const invocation& call) const {
  if (line && call.has_program)
    throw failure{usage, "there is a command after -- and one in -c; use only one of them"};
  if (line) return shell(*line);
  if (!call.has_program) return {};
  if (call.program.empty()) throw failure{usage, "there is no command after --"};
  return program{call.program, {}, {}};
}

run_options run_flags::options(connection& c) const {
  run_options o;
  if (on_suspend == "stop") o.suspend = run_options::on_suspend::stop;
  if (on_suspend == "term") o.suspend = run_options::on_suspend::term;
  // With several servers, the client does not know which one has the session.
  const auto hosts = connect_string::parse(c.at().hosts).hosts;
  if (c.at().on_this_machine && hosts.size() == 1) o.server_socket = hosts[0].socket_path;
  o.local_folder = c.at().local_folder;
  o.grace = parse_duration(kill_after);
  const auto longest = longest_grace(c.zk().session_timeout());
  if (o.grace > longest) o.grace = longest;
  return o;
}

}  // namespace conclave::cli
