#include "cli/run/run_flags.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "cli/exit_code.hpp"
#include "cli/non_empty.hpp"
#include "cli/show/duration.hpp"
#include "cli/show/text.hpp"
#include "conclave/boot_clock.hpp"
#include "conclave/connect_string.hpp"

namespace conclave::cli {

using namespace std::chrono_literals;

void add_run_flags(CLI::App& app, run_flags& f) {
  app.add_option("-c,--command", f.shell_line,
                 "run this line with /bin/sh instead of a command after --")
      ->type_name("STRING");
  app.add_option("--label", f.label,
                 "name of this contender in `conclave status` (default: host and process)")
      ->type_name("TEXT");
  app.add_option("--on-suspend", f.on_suspend,
                 "what to do when the connection is lost: ignore (nothing until the deadline is "
                 "near), stop (stop the command until the connection is restored), term (send "
                 "SIGTERM)")
      ->check(CLI::IsMember({"term", "stop", "ignore"}))
      ->capture_default_str();
  app.add_option("--kill-after", f.kill_after,
                 "time between SIGTERM and SIGKILL before the lock is lost; at most a sixth of "
                 "the session timeout")
      ->type_name("TIME")
      ->check(non_empty)
      ->default_str("5s");
}

std::optional<program> run_flags::program_of(const invocation& call) const {
  if (shell_line && call.has_program)
    throw failure{usage, "there is a command after -- and one in -c; use only one of them"};
  if (shell_line) return shell(*shell_line);
  if (!call.has_program) return {};
  if (call.program.empty()) throw failure{usage, "there is no command after --"};
  return program{call.program, {}, {}};
}

namespace {

std::string exact_time(std::chrono::milliseconds t) {
  return t % 1s == 0ms ? short_time(t) : std::to_string(t.count()) + "ms";
}

}  // namespace

run_options run_flags::options(connection& c) {
  c.report_session_timeout();  // the command may end before connected() is called
  run_options o;
  if (on_suspend == "stop") o.suspend = run_options::on_suspend::stop;
  if (on_suspend == "term") o.suspend = run_options::on_suspend::term;
  // With several servers, the client does not know which one has the session.
  const auto hosts = connect_string::parse(c.at().hosts).hosts;
  if (c.at().on_this_machine && hosts.size() == 1) o.server_socket = hosts[0].socket_path;
  o.local_folder = c.at().local_folder;
  if (!kill_after.empty()) o.grace = parse_duration(kill_after);
  const auto longest = longest_grace(c.zk().session_timeout());
  const bool is_reduced = o.grace > longest;
  if (is_reduced) o.grace = longest;
  // With a server on this machine, a hold usually has no deadline.
  const bool matters = is_reduced && !kill_after.empty() && o.server_socket.empty();
  if ((matters || c.at().verbose) && !std::exchange(grace_reported, true))
    c.post_message("the time between SIGTERM and SIGKILL (--kill-after) is " + exact_time(o.grace) +
                   (is_reduced ? ", a sixth of the session timeout" : ""));
  return o;
}

namespace {

// Returns the number of words in the command's name: 1 for `lock`, 2 for `queue work`.
std::size_t words_of_name(const CLI::App& command) {
  std::size_t n = 0;
  for (const auto* a = command.get_parent(); a != nullptr; a = a->get_parent()) ++n;
  return n;
}

bool takes_a_value(const CLI::App& command, const std::string& flag) {
  const auto* const option = command.get_option_no_throw(flag);
  return option != nullptr && option->get_items_expected_max() > 0;
}

}  // namespace

std::string corrected_command_line(const CLI::App& command, const std::vector<std::string>& words) {
  std::string line = "conclave";
  const auto add = [&](const std::string& word) { line += " " + in_shell(word); };
  const auto name = words_of_name(command);
  std::size_t paths = 0;
  bool program = false;
  std::optional<std::string> shell_line;  // of a -c before the program
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") continue;  // inserted again below
    const bool is_flag = words[i].starts_with("-");
    if (!program && (words[i] == "-c" || words[i] == "--command")) {
      shell_line = i + 1 < words.size() ? words[++i] : "LINE";
      continue;
    }
    if (i >= name && !is_flag && !program && ++paths > 1 && !shell_line) {
      line += " --";
      program = true;
    }
    add(words[i]);
    if (is_flag && !program && takes_a_value(command, words[i]) && i + 1 < words.size())
      add(words[++i]);
  }
  if (paths == 0) line += " PATH";
  if (shell_line) return line + (paths > 1 ? " -- sh -c " : " -c ") + in_shell(*shell_line);
  return line + (program ? "" : " -- COMMAND");
}

}  // namespace conclave::cli
