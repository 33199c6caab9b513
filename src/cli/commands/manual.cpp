// `conclave manual`: prints the manual page, for installation.
#include "cli/manual/manual.hpp"

#include <iostream>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"

namespace conclave::cli {

void describe_manual(CLI::App& app, invocation& call) {
  app.description("Print the manual page, conclave(1), as man(1) reads it.");
  app.footer("Example: conclave manual | man -l -");
  app.callback([&call] {
    call.run = [] {
      std::cout << manual_page(whole_program());
      return ok;
    };
  });
}

}  // namespace conclave::cli
