// `conclave queue work`: runs a command for each item.
#include "cli/commands/queue/queue_flags.hpp"
#include "cli/commands/queue/worker.hpp"
#include "cli/exit_code.hpp"
#include "cli/run/corrected_command_line.hpp"
#include "cli/show/duration.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

struct work_flags {
  queue_flags queue;
  run_flags run;
  std::string retry_after = "1s";
  std::vector<std::string> stray;
  worker::terms terms;
};

void add_flags(CLI::App& app, work_flags& f) {
  app.description("run a command for each item, with the item on its stdin, or as an argument");
  app.footer(
      "Examples:\n"
      "  conclave queue work jobs -- ./do-job\n"
      "  conclave queue work -j 8 --until-empty jobs -- ./do-job\n"
      "  conclave queue work jobs -- ./do-job {}   (the item instead of an argument {})\n"
      "  conclave queue work --arg jobs -c 'curl -fO \"$1\"'\n"
      "  conclave queue work --max-attempts 3 jobs -c 'read -r url; curl -fO \"$url\"'\n\n"
      "An item stays in the queue, claimed by us, until its command has ended with 0. If that\n"
      "fails, the item is kept for a while (--retry-after), in which others come first, and\n"
      "given back. If we lose the server for too long the command is ended and its item is\n"
      "there for others. So it is if we are killed; on the server of this machine the command\n"
      "goes on then, and keeps its item until it has ended, as with conclave lock. An item\n"
      "may be worked on twice in such cases, but never by two at a time. After a signal\n"
      "nothing new is begun; it is passed on to the commands, and what they do not complete\n"
      "is given back.\n\n"
      "The command finds CONCLAVE_ITEM_NAME, CONCLAVE_ITEM_ATTEMPT, CONCLAVE_QUEUE_PATH,\n"
      "CONCLAVE_FENCING_TOKEN, CONCLAVE_LOCK_NODE and CONCLAVE_SESSION_ID in its environment.\n"
      "Exit codes: with --until-empty or --count 0 if all went well, 1 if a command failed;\n"
      "128 and the signal that ended us; 64 usage; 69 no server; 126, 127 the command cannot\n"
      "be run.");
  add_queue_flags(app, f.queue);
  app.add_option("COMMAND", f.stray)->group("");
  app.add_option("-j,--jobs", f.terms.jobs, "so many commands at a time")
      ->type_name("N")
      ->check(CLI::Range{1, 10'000})
      ->capture_default_str();
  app.add_flag(
      "--until-empty", f.terms.until_empty,
      "end when there is nothing left to take; items that fail are tried once, or as often "
      "as --max-attempts says");
  app.add_option("-n,--count", f.terms.count, "end after so many items")
      ->type_name("N")
      ->check(CLI::Range{1, 1'000'000'000});
  app.add_option("--max-attempts", f.terms.max_attempts,
                 "set an item aside when it has failed so often: conclave queue ls --set-aside")
      ->type_name("N")
      ->check(CLI::Range{1, 1'000'000});
  app.add_option(
         "--retry-after", f.retry_after,
         "keep an item that failed for so long, twice as long each time up to a minute; and "
         "take items that slowly if all fail")
      ->type_name("TIME")
      ->capture_default_str();
  app.add_flag("--arg", f.terms.item_as_argument,
               "the item is the command's last argument, too, or $1 of -c; a {} among the "
               "arguments is the item anyway");
  app.add_flag("-q,--quiet", f.terms.quiet, "say nothing about items that fail");
  add_run_flags(app, f.run);
}

int run(work_flags& f, const invocation& call) {
  auto what = f.run.program_of(call);
  if (!what || !f.stray.empty())
    throw failure{usage, "the command stands behind --; try: " +
                             corrected_command_line(*call.command, call.words)};
  // For -c, the first argument after the shell line is $0, and the shell handles {} itself.
  if (f.run.line && f.terms.item_as_argument) what->arguments.emplace_back("conclave");
  f.terms.retry_after = parse_duration(f.retry_after);
  worker w{f.queue, f.run, f.terms, std::move(*what)};
  return w.run();
}

}  // namespace

void describe_work(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<work_flags>();
  add_flags(app, *flags);
  when_used(app, call, flags, run);
}

}  // namespace conclave::cli
