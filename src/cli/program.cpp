#include "cli/program.hpp"

#include "cli/connect/connect_flags.hpp"
#include "cli/exit_code.hpp"
#include "cli/reference/closest.hpp"
#include "cli/reference/command_tree.hpp"
#include "conclave/version.hpp"

namespace conclave::cli {
namespace {

// Returns the full name, for example "conclave queue push".
std::string full_name(const CLI::App& app) {
  const auto* const parent = app.get_parent();
  return parent == nullptr ? app.get_name() : full_name(*parent) + " " + app.get_name();
}

bool takes_a_value(const CLI::App& app, const std::string& word) {
  const auto* const option = app.get_option_no_throw(word);
  return option != nullptr && option->get_items_expected_max() > 0;
}

std::size_t command_at(const CLI::App& app, const std::vector<std::string>& words) {
  std::size_t i = 0;
  for (; i < words.size() && words[i].starts_with('-'); ++i)
    if (takes_a_value(app, words[i])) ++i;
  return std::min(i, words.size());
}

std::vector<std::string> commands_below(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* const sub : app.get_subcommands(std::function<bool(const CLI::App*)>{}))
    if (!sub->get_group().empty()) names.push_back(sub->get_name());
  return names;
}

// Suggests `conclave queue push` for `conclave push`.
std::optional<std::string> command_of_a_group(const std::string& word) {
  const auto root = whole_program();
  for (const auto* const c : all_of(root))
    if (c->name == word && c->words != word) return c->words;
  return {};
}

void describe_options(CLI::App& app) {
  app.name("conclave");
  app.description("Distributed locks, queues and leader election on ZooKeeper's protocol.");
  app.footer(
      "Example: conclave lock backups/db -- ./backup.sh\n"
      "\n"
      "By default, commands use a server on this machine and start it if needed. With\n"
      "CONCLAVE_CONNECT=zk1,zk2,zk3, the same commands work across machines.\n"
      "Server options can be before or after the command.\n"
      "See also: conclave help COMMAND, and the manual page conclave(1).");
  app.set_version_flag("--version", std::string{"conclave "} + conclave::version);
  auto before_command = std::make_shared<connect_flags>();
  add_connect_flags(app, *before_command);
  app.callback([before_command] {});  // keeps before_command alive as long as the options
  app.require_subcommand(1);
}

void describe_commands(CLI::App& app, invocation& call,
                       const std::function<bool(std::string_view name)>& with_flags) {
  for (const auto& c : all_commands()) {
    auto* const sub = app.add_subcommand(c.name, c.summary);
    if (*c.summary == '\0') sub->group("");
    if (with_flags(c.name)) c.describe(*sub, call);
  }
}

}  // namespace

void describe_whole_program(CLI::App& app, invocation& call) {
  describe_options(app);
  describe_commands(app, call, [](std::string_view) { return true; });
}

std::size_t describe_program(CLI::App& app, invocation& call,
                             const std::vector<std::string>& words) {
  describe_options(app);
  const auto at = command_at(app, words);
  describe_commands(app, call,
                    [&](std::string_view name) { return at < words.size() && words[at] == name; });
  return at;
}

void pass_on_options(CLI::App& app) {
  auto* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  for (const auto* const given : app.get_options(
           [](const CLI::Option* o) { return o->nonpositional() && o->count() != 0; })) {
    const auto name = "--" + given->get_lnames().front();
    auto* const own = command->get_option_no_throw(name);
    if (own == nullptr)
      throw failure{usage, full_name(*command) + " has no option " + name + "; leave it out"};
    if (own->count() != 0) continue;
    own->add_result(given->results());
    own->run_callback();
  }
}

named_command find_command(CLI::App& app, const std::vector<std::string>& words, std::size_t at) {
  named_command found{&app, at};
  while (found.next < words.size()) {
    const auto subs = found.app->get_subcommands(
        [&](const CLI::App* sub) { return sub->get_name() == words[found.next]; });
    if (subs.empty()) break;
    found = {subs.front(), found.next + 1};
  }
  return found;
}

std::string unknown_command(const CLI::App& app, const std::string& word) {
  const auto names = commands_below(app);
  auto meant = closest(word, names);
  const bool top = app.get_parent() == nullptr;
  if (!meant && top) meant = command_of_a_group(word);
  auto text = "there is no command '" + (top ? "" : app.get_name() + " ") + word + "'";
  if (meant) return text + "; did you mean '" + (top ? "" : app.get_name() + " ") + *meant + "'?";
  if (top) return text + "; see: conclave --help";
  text += "; the commands are";
  for (const auto& name : names) text += (name == names.front() ? " " : ", ") + name;
  return text;
}

std::string unknown_option(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const auto* const o : app.get_options({}))
    for (const auto& name : o->get_lnames()) names.push_back("--" + name);
  const auto given = word.substr(0, word.find('='));
  const auto meant = given.starts_with("--") ? closest(given, names) : std::nullopt;
  return full_name(app) + " has no option " + given +
         (meant ? "; did you mean " + *meant + "?" : "; see: " + full_name(app) + " --help");
}

}  // namespace conclave::cli
