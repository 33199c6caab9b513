#include "cli/reference/command_tree.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/program.hpp"

namespace conclave::cli {
namespace {

// CLI11 reports choices as TYPE:{one,two}.
std::vector<std::string> choices_of(const CLI::Option& o) {
  std::vector<std::string> all;
  const auto type = o.get_type_name();
  const auto open = type.find('{');
  const auto close = type.find('}', open);
  if (open == type.npos || close == type.npos) return all;
  for (auto from = open + 1; from < close;) {
    const auto end = std::min(type.find(',', from), close);
    all.push_back(type.substr(from, end - from));
    from = end + 1;
  }
  return all;
}

std::string value_of(const CLI::Option& o) {
  if (o.get_items_expected_max() == 0) return {};
  auto type = o.get_type_name();
  type = type.substr(0, type.find(':'));
  std::erase_if(type, [](char c) { return c == '[' || c == ']'; });
  return type.empty() ? "VALUE" : type;
}

option_info describe_option(const CLI::Option& o) {
  option_info info;
  for (const auto& name : o.get_snames()) info.names.push_back("-" + name);
  for (const auto& name : o.get_lnames()) info.names.push_back("--" + name);
  info.description = o.get_description();
  info.group = o.get_group();
  info.value = value_of(o);
  info.value_may_be_left_out = !info.value.empty() && o.get_items_expected_min() == 0;
  info.standard = o.get_default_str();
  info.choices = choices_of(o);
  return info;
}

positional_info describe_positional(const CLI::Option& o) {
  return {o.get_name(), o.get_description(), o.get_required(), o.get_expected_max() > 1,
          choices_of(o)};
}

command_info describe_command(const CLI::App& app, const std::string& words, std::string summary) {
  command_info c;
  c.name = app.get_name();
  c.words = words;
  c.summary = std::move(summary);
  c.description = app.get_description();
  c.footer = app.get_footer();
  c.hidden = app.get_group().empty();
  for (const auto* const o : app.get_options({})) {
    if (o->get_group().empty()) continue;
    if (o->nonpositional())
      c.options.push_back(describe_option(*o));
    else
      c.positionals.push_back(describe_positional(*o));
  }
  c.runs_program = app.get_option_no_throw("--command") != nullptr;
  for (const auto* const sub : app.get_subcommands(std::function<bool(const CLI::App*)>{})) {
    const auto name = sub->get_name();
    auto what = first_words(sub->get_description());
    // Commands of the first level have a summary of their own.
    if (words.empty())
      for (const auto& known : all_commands())
        if (name == known.name) what = known.summary;
    c.commands.push_back(describe_command(*sub, words.empty() ? name : words + " " + name, what));
  }
  return c;
}

void collect(const command_info& c, std::vector<const command_info*>& all) {
  if (c.hidden) return;
  all.push_back(&c);
  for (const auto& sub : c.commands) collect(sub, all);
}

}  // namespace

command_info whole_program() {
  CLI::App app;
  invocation call;
  describe_whole_program(app, call);
  auto root = describe_command(app, {}, first_words(app.get_description()));
  root.hidden = false;
  return root;
}

std::vector<const command_info*> all_of(const command_info& root) {
  std::vector<const command_info*> all;
  collect(root, all);
  return all;
}

std::string first_words(const std::string& text) {
  auto line = text.substr(0, text.find('\n'));
  for (auto stop = line.find(". "); stop != line.npos; stop = line.find(". ", stop + 1)) {
    if (line[stop - 1] == '.') continue;  // part of an ellipsis: "and so on... "
    line.resize(stop);
    break;
  }
  if (line.ends_with('.') && !line.ends_with("..")) line.pop_back();
  return line;
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace conclave::cli
