// `conclave queue work`: runs a command for each item.
#include <algorithm>
#include <iostream>

#include "cli/commands/queue/queue_flags.hpp"
#include "cli/commands/queue/worker.hpp"
#include "cli/exit_code.hpp"
#include "cli/run/run_flags.hpp"
#include "cli/show/duration.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

struct work_flags {
  queue_flags queue;
  run_flags run;
  std::string retry_after = "1s";
  std::vector<std::string> stray;
  worker::work_options options;
};

void add_flags(CLI::App& app, work_flags& f) {
  app.description("run a command for each item, with the item on stdin or as an argument");
  app.footer(
      "Examples:\n"
      "  conclave queue work jobs -- ./do-job\n"
      "  conclave queue work -j 8 --until-empty jobs -- ./do-job\n"
      "  conclave queue work jobs -- ./do-job {}          (the item replaces {})\n"
      "  conclave queue work --arg jobs -c 'curl -fO \"$1\"'\n"
      "  conclave queue work --max-attempts 3 jobs -c 'read -r url; curl -fO \"$url\"'\n"
      "\n"
      "The worker claims an item and runs the command. The item stays in the queue until the\n"
      "command has ended with 0. If the command fails, the worker keeps its claim for\n"
      "--retry-after and processes other items. Then it returns the failed item to the queue.\n"
      "\n"
      "If the connection is lost, the worker ends the command before another worker can claim\n"
      "the item. If the worker is killed, its command is killed as well. With a server on this\n"
      "machine, the command continues instead and keeps its item until it has ended, as with\n"
      "conclave lock. In these cases an item may be processed twice, but never by two commands\n"
      "at the same time.\n"
      "\n"
      "After a signal, the worker claims no more items. It passes the signal on to the running\n"
      "commands, and returns the items of the commands that do not end with 0.\n"
      "\n"
      "The environment of the command contains CONCLAVE_ITEM_NAME, CONCLAVE_ITEM_ATTEMPT,\n"
      "CONCLAVE_QUEUE_PATH, CONCLAVE_FENCING_TOKEN, CONCLAVE_LOCK_NODE and CONCLAVE_SESSION_ID.\n"
      "Exit codes with --until-empty or --count: 0 if all commands succeeded, 1 if one failed.\n"
      "Other exit codes: 128 + N after signal N; 64 usage; 69 no server; 71 no more processes or\n"
      "memory; 75 the claim was lost and its command cannot be killed; 77 refused by an ACL; 78\n"
      "another layout; 126, 127 the command cannot be run.");
  add_queue_flags(app, f.queue);
  app.add_option("COMMAND", f.stray)->group("");
  app.add_option("-j,--jobs", f.options.jobs, "number of commands that run at a time")
      ->type_name("N")
      ->check(CLI::Range{1, 10'000})
      ->capture_default_str();
  app.add_flag("--until-empty", f.options.until_empty,
               "end when no item is left to claim; a failed item is not tried again, unless "
               "--max-attempts is given");
  app.add_option("-n,--count", f.options.count, "end after N items")
      ->type_name("N")
      ->check(CLI::Range{1, 1'000'000'000});
  app.add_option(
         "--max-attempts", f.options.max_attempts,
         "set an item aside after N claims without success; each start of its command is a claim, "
         "even if the worker was stopped; see: conclave queue ls --set-aside")
      ->type_name("N")
      ->check(CLI::Range{1, 1'000'000});
  app.add_option("--retry-after", f.retry_after,
                 "pause before a failed item is tried again; doubles with each attempt, up to 1m; "
                 "also the longest pause between two claims while all commands fail")
      ->type_name("TIME")
      ->capture_default_str();
  app.add_flag("--arg", f.options.item_as_argument,
               "also pass the item as the last argument, or as $1 with -c; not needed with an "
               "argument {}, which is always replaced by the item");
  app.add_flag("-q,--quiet", f.options.quiet, "print nothing about items that fail");
  add_run_flags(app, f.run);
}

// Only an argument that is exactly {} is replaced. In `sh -c 'echo {}'`, the command would not get
// the item, would succeed, and the item would be removed.
void refuse_embedded_placeholder(const work_flags& f, const program& what) {
  const auto& all = what.arguments;
  if (f.options.item_as_argument || std::find(all.begin() + 1, all.end(), "{}") != all.end())
    return;
  const bool embedded = std::any_of(all.begin() + 1, all.end(), [](const std::string& a) {
    return a.find("{}") != std::string::npos;
  });
  if (embedded && !f.run.shell_line)
    throw failure{usage,
                  "{} is replaced by the item only if it is a whole argument; use --arg and \"$1\" "
                  "in a shell line, or -c LINE, which is not searched for {}"};
  if (embedded && !f.options.quiet)
    std::cerr
        << "conclave: {} in the line of -c is not replaced by the item; the item is on stdin, "
           "or with --arg in $1\n";
}

int run(work_flags& f, const invocation& call) {
  auto what = f.run.program_of(call);
  if (!what || !f.stray.empty())
    throw failure{usage, "put the command after --; try: " +
                             corrected_command_line(*call.command, call.words)};
  refuse_embedded_placeholder(f, *what);
  // For -c, the first argument after the shell line is $0, and the shell handles {} itself.
  if (f.run.shell_line && f.options.item_as_argument) what->arguments.emplace_back("conclave");
  f.options.retry_after = parse_duration(f.retry_after);
  // Otherwise the first item would be claimed in vain, which counts as an attempt.
  require_executable(*what);
  require_room_for_input();
  worker w{f.queue, f.run, f.options, std::move(*what)};
  return w.run();
}

}  // namespace

void describe_work(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<work_flags>();
  add_flags(app, *flags);
  when_used(app, call, flags, run);
}

}  // namespace conclave::cli
