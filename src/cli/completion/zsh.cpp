#include <sstream>

#include "cli/completion/scripts.hpp"

namespace conclave::cli {
namespace {

// Quotes text for use inside '...', where zsh gives brackets and colons a meaning.
std::string bracket_quoted(std::string text) {
  text = with(std::move(text), "\\", "\\\\");
  text = with(std::move(text), "'", "'\\''");
  for (const char* const special : {"[", "]", ":"})
    text = with(std::move(text), special, std::string{"\\"} + special);
  return with(std::move(text), "\n", " ");
}

std::string function_of(const command_info& c) {
  return "_conclave" + (c.words.empty() ? "" : "_" + with(c.words, " ", "_"));
}

std::string action(value_kind k, const std::vector<std::string>& choices) {
  if (!choices.empty()) return "(" + joined(choices, " ") + ")";
  switch (k) {
    case value_kind::file: return "_files";
    case value_kind::folder: return "_directories";
    case value_kind::node: return "_conclave_paths";
    case value_kind::anything: break;
  }
  return " ";
}

void option(std::ostream& out, const option_info& o) {
  const auto all = joined(o.names, " ");
  for (const auto& name : o.names) {
    const bool is_long = name.starts_with("--");
    const bool takes = !o.value.empty() && !o.value_may_be_left_out;
    out << " \\\n    '(" << all << ")" << name << (takes ? (is_long ? "=" : "+") : "") << "["
        << bracket_quoted(first_words(o.description)) << "]";
    if (takes)
      out << ":" << bracket_quoted(o.value) << ":" << action(kind_of_value(o.value), o.choices);
    out << "'";
  }
}

void subcommands(std::ostream& out, const command_info& c) {
  out << " \\\n    '1: :->command' \\\n    '*:: :->arguments' && return\n  case $state in\n"
      << "    command)\n      local -a commands=(\n";
  for (const auto& sub : c.commands)
    if (!sub.hidden) out << "        '" << sub.name << ":" << bracket_quoted(sub.summary) << "'\n";
  out << "      )\n      _describe command commands ;;\n"
      << "    arguments)\n      case $words[1] in\n";
  for (const auto& sub : c.commands)
    if (!sub.hidden) out << "        " << sub.name << ") " << function_of(sub) << " ;;\n";
  out << "      esac ;;\n  esac\n";
}

void function(std::ostream& out, const command_info& c) {
  out << function_of(c) << "() {\n  local state line\n  local -A opt_args\n";
  if (c.runs_program) out << "  _conclave_program && return\n";
  out << "  _arguments -s" << (c.commands.empty() ? "" : " -C");
  for (const auto& o : c.options) option(out, o);
  if (!c.commands.empty()) {
    subcommands(out, c);
  } else {
    for (const auto& p : c.positionals)
      out << " \\\n    '" << (p.many ? "*" : "") << ":" << bracket_quoted(p.name) << ":"
          << action(kind_of_argument(p.name), p.choices) << "'";
    out << "\n";
  }
  out << "}\n\n";
}

}  // namespace

std::string zsh_completion(const command_info& root) {
  std::ostringstream out;
  out << R"sh(#compdef conclave
# Completion of conclave(1) in zsh. Made by `conclave completion zsh`.

# Lists nodes of a running server. Does not start one.
_conclave_paths() {
  local -a paths=(${(f)"$(conclave completion paths -- "$PREFIX" 2>/dev/null)"})
  compadd -S '' -- $paths
}

# The words after -- are another command line.
_conclave_program() {
  local n=${words[(i)--]}
  ((n < CURRENT)) || return 1
  shift $n words
  ((CURRENT -= n))
  _normal
  return 0
}

)sh";
  for (const auto* const c : all_of(root)) function(out, *c);
  // As a file in $fpath, the script is called as a function. When it is sourced, it must register
  // the function.
  out << R"sh(if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _conclave "$@"
else
  compdef _conclave conclave
fi
)sh";
  return out.str();
}

}  // namespace conclave::cli
