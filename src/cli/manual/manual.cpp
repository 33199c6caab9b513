#include "cli/manual/manual.hpp"

#include <algorithm>
#include <sstream>

#include "conclave/version.hpp"

namespace conclave::cli {
namespace {

constexpr const char* server_group = "Server";

std::string roff(std::string text) {
  text = with(std::move(text), "\\", "\\e");
  text = with(std::move(text), "-", "\\-");
  // At the beginning of a line, roff would treat these characters as requests.
  text = with(std::move(text), "\n.", "\n\\&.");
  text = with(std::move(text), "\n'", "\n\\&'");
  if (text.starts_with('.') || text.starts_with('\'')) text.insert(0, "\\&");
  return text;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string value_text(const option_info& o) {
  if (o.value.empty()) return {};
  std::string text;
  if (o.choices.empty()) {
    text = italic(o.value);
  } else {
    for (const auto& c : o.choices) text += (text.empty() ? "" : "|") + bold(c);
  }
  return o.value_may_be_left_out ? " [" + text + "]" : " " + text;
}

void option(std::ostream& out, const option_info& o) {
  out << ".TP\n";
  for (std::size_t i = 0; i < o.names.size(); ++i) out << (i == 0 ? "" : ", ") << bold(o.names[i]);
  out << value_text(o) << "\n" << (o.description.empty() ? "\\&" : roff(o.description));
  if (!o.standard.empty()) out << " (default: " << roff(o.standard) << ")";
  out << "\n";
}

std::string synopsis(const command_info& c) {
  if (!c.commands.empty())
    return bold("conclave " + c.words) + " " + italic("COMMAND") + " [" + italic("OPTION") + "...]";
  std::string text = bold("conclave " + c.words) + " [" + italic("OPTION") + "...]";
  for (const auto& p : c.positionals) {
    const auto name = italic(p.name) + (p.many ? "..." : "");
    text += p.required ? " " + name : " [" + name + "]";
  }
  if (c.runs_program) text += " [" + bold("--") + " " + italic("COMMAND") + "...]";
  return text;
}

// Keeps indented lines as they are and fills the others.
void prose(std::ostream& out, const std::string& text) {
  std::istringstream in{text};
  bool as_is = false;
  for (std::string line; std::getline(in, line);) {
    const bool indented = line.starts_with("  ");
    if (indented && !as_is) out << ".PP\n.EX\n";
    if (!indented && as_is) out << ".EE\n.PP\n";
    as_is = indented;
    if (line.starts_with("Exit code")) out << ".PP\n";
    if (line.empty())
      out << ".PP\n";
    else
      out << roff(line) << "\n";
  }
  if (as_is) out << ".EE\n";
}

void command_section(std::ostream& out, const command_info& c) {
  out << ".SS " << synopsis(c) << "\n";
  prose(out, c.description);
  bool server = false;
  for (const auto& p : c.positionals)
    if (!p.description.empty())
      out << ".TP\n" << italic(p.name) << "\n" << roff(p.description) << "\n";
  for (const auto& o : c.options) {
    server = server || o.group == server_group;
    const bool help = std::find(o.names.begin(), o.names.end(), "--help") != o.names.end();
    if (o.group != server_group && !help) option(out, o);
  }
  if (server)
    out << ".PP\n"
           "It also has the options of\n"
           ".BR \"SERVER OPTIONS\" .\n";
  if (!c.footer.empty()) {
    out << ".PP\n";
    prose(out, c.footer);
  }
}

void server_options(std::ostream& out, const std::vector<const command_info*>& all) {
  for (const auto* const c : all) {
    const auto is_of_server = [](const option_info& o) { return o.group == server_group; };
    if (std::none_of(c->options.begin(), c->options.end(), is_of_server)) continue;
    out << ".SH SERVER OPTIONS\n"
           "All commands that use a server have these options:\n";
    for (const auto& o : c->options)
      if (is_of_server(o)) option(out, o);
    return;
  }
}

}  // namespace

std::string manual_page(const command_info& root) {
  std::ostringstream out;
  out << ".\\\" Made by `conclave manual`.\n"
      << ".TH CONCLAVE 1 \"\" \"conclave " << roff(conclave::version) << "\" \"User Commands\"\n"
      << manual_before_commands << ".SH COMMANDS\n";
  const auto all = all_of(root);
  for (const auto* const c : all)
    if (!c->words.empty()) command_section(out, *c);
  server_options(out, all);
  out << manual_after_commands;
  return out.str();
}

}  // namespace conclave::cli
