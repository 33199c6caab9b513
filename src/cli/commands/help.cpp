// `conclave help` and `conclave version`.
#include <iostream>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "conclave/version.hpp"

namespace conclave::cli {

// main.cpp turns `help COMMAND` into `COMMAND --help` before parsing. This description is for help,
// completion and the manual page.
void describe_help(CLI::App& app, invocation& call) {
  std::vector<std::string> names;
  for (const auto& c : all_commands())
    if (*c.summary != '\0') names.emplace_back(c.name);
  app.description("Print the help of a command, as COMMAND --help does, or of the program.");
  app.footer(
      "Examples:\n"
      "  conclave help lock\n"
      "  conclave help queue push");
  app.add_option("COMMAND", "the words of the command")
      ->expected(0, 2)
      ->check(CLI::IsMember(std::move(names)));
  app.callback([&call] {
    call.run = []() -> int { throw failure{usage, "put help first: conclave help COMMAND"}; };
  });
}

void describe_version(CLI::App& app, invocation& call) {
  app.description("Print the version of this program, as --version does.");
  app.footer("Example: conclave version");
  app.callback([&call] {
    call.run = [] {
      std::cout << "conclave " << conclave::version << "\n";
      return ok;
    };
  });
}

}  // namespace conclave::cli
