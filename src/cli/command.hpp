// What a command is: its flags, and what it does. Each has a file in commands/.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace conclave::cli {

struct invocation {
  std::vector<std::string> words;     // all of them, the command first
  const CLI::App* command = nullptr;  // the one that is used
  // What stands behind `--`: the program to run and its arguments (or a queue's items).
  std::vector<std::string> program;
  bool has_program = false;  // there was a `--`
  // What was asked for; its result is the exit code.
  std::function<int()> run;
};

struct command {
  const char* name;
  const char* summary;  // empty: not shown in help
  // Adds the flags, and sees to it that `run` is set when the command is used (see when_used).
  void (*describe)(CLI::App& app, invocation& call);
};

// Flags: a struct whose fields are bound to the command's options.
template <class Flags>
void when_used(CLI::App& app, invocation& call, std::shared_ptr<Flags> flags,
               int (*run)(Flags&, const invocation&)) {
  app.callback([&app, &call, flags = std::move(flags), run] {
    call.command = &app;
    call.run = [&call, flags, run] { return run(*flags, call); };
  });
}

// In the order in which help shows them.
const std::vector<command>& all_commands();

}  // namespace conclave::cli
