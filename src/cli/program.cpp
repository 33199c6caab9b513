#include "cli/program.hpp"

#include "conclave/version.hpp"

namespace conclave::cli {

void describe_program(CLI::App& app, invocation& call, const std::string& only) {
  app.name("conclave");
  app.description("Distributed locks, queues and leader election on ZooKeeper's protocol.");
  app.footer(
      "Example: conclave lock backups/db -- ./backup.sh\n\n"
      "Without a word about servers it uses one of its own on this machine, and starts it when\n"
      "needed. CONCLAVE_CONNECT=zk1,zk2,zk3 makes the same commands work across machines.\n"
      "`conclave COMMAND --help` tells more; so does the manual page, conclave(1).");
  app.set_version_flag("--version", std::string{"conclave "} + conclave::version);
  app.require_subcommand(1);
  for (const auto& c : all_commands()) {
    auto* const sub = app.add_subcommand(c.name, c.summary);
    if (*c.summary == '\0') sub->group("");
    if (only.empty() || only == c.name) c.describe(*sub, call);
  }
}

}  // namespace conclave::cli
