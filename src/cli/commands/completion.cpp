// `conclave completion`: prints completion scripts for shells, and lists nodes for these scripts.
#include <unistd.h>

#include <iostream>

#include "cli/command.hpp"
#include "cli/completion/scripts.hpp"
#include "cli/connect/connection.hpp"
#include "cli/connect/local_server.hpp"
#include "cli/exit_code.hpp"
#include "conclave/inspect.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

struct paths_flags {
  std::string begin;
};

template <std::string (*script)(const command_info&)>
void add_shell(CLI::App& app, invocation& call, const char* name, const char* footer) {
  auto* const sub = app.add_subcommand(name, std::string{"print the script for "} + name);
  sub->footer(footer);
  sub->callback([&call] {
    call.run = [] {
      std::cout << script(whole_program());
      return ok;
    };
  });
}

// Prints the nodes that can complete the word, one on each line. The user has pressed a key and
// waits. So on any error, for example without a server, it returns at once and prints nothing.
int list_paths(paths_flags& f, const invocation&) {
  try {
    auto at = find_server({});
    if (!at.local_folder.empty() && !server_answers(at.local_folder / "socket")) return ok;
    at.options.connect_wait = 300ms;
    at.options.session_timeout = 4s;
    const auto folder = f.begin.substr(0, f.begin.rfind('/') + 1);
    const auto parent = folder.empty()  ? root_path
                        : folder == "/" ? folder
                                        : node_path(folder.substr(0, folder.size() - 1));
    client zk{at.hosts, at.options};
    try {
      for (const auto& name : zk.children(parent).names)
        if (!is_recipe_node(name) && (folder + name).starts_with(f.begin))
          std::cout << folder << name << "\n";
    } catch (const error&) {
      ::_exit(ok);  // the destructor of the client may wait for a name server
    }
  } catch (const std::exception&) {
    return ok;
  }
  return ok;
}

}  // namespace

void describe_completion(CLI::App& app, invocation& call) {
  app.description("Print a completion script for a shell.");
  app.footer(
      "Examples:\n"
      "  eval \"$(conclave completion bash)\"                              (in ~/.bashrc)\n"
      "  conclave completion zsh > ~/.zfunc/_conclave                    (a folder of $fpath)\n"
      "  conclave completion fish > ~/.config/fish/completions/conclave.fish");
  app.require_subcommand(1);
  add_shell<bash_completion>(app, call, "bash", "Example: eval \"$(conclave completion bash)\"");
  add_shell<zsh_completion>(app, call, "zsh",
                            "Example: conclave completion zsh > ~/.zfunc/_conclave");
  add_shell<fish_completion>(
      app, call, "fish",
      "Example: conclave completion fish > ~/.config/fish/completions/conclave.fish");
  auto* const paths = app.add_subcommand("paths", "print the nodes whose paths begin with BEGIN");
  paths->group("");  // used by the scripts only
  auto f = std::make_shared<paths_flags>();
  paths->add_option("BEGIN", f->begin);
  when_used(*paths, call, f, list_paths);
}

}  // namespace conclave::cli
