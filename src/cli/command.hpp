// A command of the program, with its flags and its function. Each command has a file in commands/.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace conclave::cli {

struct invocation {
  std::vector<std::string> words;     // all words of the command line, the command first
  const CLI::App* command = nullptr;  // the command that the user gave
  // The words after `--`: the program to run and its arguments, or the items of a queue.
  std::vector<std::string> program;
  bool has_program = false;  // whether the command line has a `--`
  // Runs the command and returns the exit code.
  std::function<int()> run;
};

struct command {
  const char* name;
  const char* summary;  // if empty, help does not list the command
  // Adds the flags. Also calls when_used(), so that `run` is set if the user gives this command.
  void (*describe)(CLI::App& app, invocation& call);
};

// Sets `run` if the user gives this command. Flags is a struct whose fields are bound to the
// options.
template <class Flags>
void when_used(CLI::App& app, invocation& call, std::shared_ptr<Flags> flags,
               int (*run)(Flags&, const invocation&)) {
  app.callback([&app, &call, flags = std::move(flags), run] {
    call.command = &app;
    call.run = [&call, flags, run] { return run(*flags, call); };
  });
}

// All commands, in the order of the help text.
const std::vector<command>& all_commands();

// Each of these functions is defined in a file in commands/.
void describe_lock(CLI::App& app, invocation& call);
void describe_elect(CLI::App& app, invocation& call);
void describe_leader(CLI::App& app, invocation& call);
void describe_queue(CLI::App& app, invocation& call);
void describe_status(CLI::App& app, invocation& call);
void describe_why(CLI::App& app, invocation& call);
void describe_ui(CLI::App& app, invocation& call);
void describe_revoke(CLI::App& app, invocation& call);
void describe_gc(CLI::App& app, invocation& call);
void describe_doctor(CLI::App& app, invocation& call);
void describe_bench(CLI::App& app, invocation& call);
void describe_local(CLI::App& app, invocation& call);
void describe_znode(CLI::App& app, invocation& call);
void describe_serve(CLI::App& app, invocation& call);
void describe_completion(CLI::App& app, invocation& call);
void describe_manual(CLI::App& app, invocation& call);
void describe_help(CLI::App& app, invocation& call);
void describe_version(CLI::App& app, invocation& call);

}  // namespace conclave::cli
