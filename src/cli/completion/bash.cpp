#include <sstream>

#include "cli/completion/scripts.hpp"

namespace conclave::cli {
namespace {

std::string names_of(const std::vector<option_info>& options) {
  std::vector<std::string> names;
  for (const auto& o : options) names.insert(names.end(), o.names.begin(), o.names.end());
  return joined(names, " ");
}

std::string commands_of(const command_info& c) {
  std::vector<std::string> names;
  for (const auto& sub : c.commands)
    if (!sub.hidden) names.push_back(sub.name);
  return joined(names, " ");
}

std::string reply(const std::string& words) {
  return "COMPREPLY=($(compgen -W '" + words + "' -- \"$cur\"))";
}

std::string reply_for(value_kind k) {
  switch (k) {
    case value_kind::file: return "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\"))";
    case value_kind::folder: return "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$cur\"))";
    case value_kind::node: return "_conclave_paths \"$1\" \"$cur\"";
    case value_kind::anything: break;
  }
  return ":";
}

// The possible values of each option. Options without a value are not listed.
void values(std::ostream& out, const command_info& c) {
  for (const auto& o : c.options) {
    if (o.value.empty() || o.value_may_be_left_out) continue;
    std::vector<std::string> cases;
    for (const auto& name : o.names) cases.push_back("'" + c.words + ":" + name + "'");
    out << "    " << joined(cases, "|") << ") "
        << (o.choices.empty() ? reply_for(kind_of_value(o.value)) : reply(joined(o.choices, " ")))
        << "; return ;;\n";
  }
}

void others(std::ostream& out, const command_info& c) {
  out << "    '" << c.words << "')\n"
      << "      if [[ $cur == -* ]]; then\n        " << reply(names_of(c.options)) << "\n";
  const auto subs = commands_of(c);
  if (!subs.empty()) out << "      else\n        " << reply(subs) << "\n";
  if (!c.positionals.empty()) {
    const auto& p = c.positionals.front();
    const auto k = kind_of_argument(p.name);
    if (!p.choices.empty())
      out << "      else\n        " << reply(joined(p.choices, " ")) << "\n";
    else if (k != value_kind::anything)
      out << "      else\n        " << reply_for(k) << "\n";
  }
  out << "      fi ;;\n";
}

}  // namespace

std::string bash_completion(const command_info& root) {
  std::ostringstream out;
  const auto all = all_of(root);
  std::vector<std::string> words, programs;
  for (const auto* const c : all) {
    if (!c->words.empty()) words.push_back("'" + c->words + "'");
    if (c->runs_program) programs.push_back("'" + c->words + "'");
  }
  out << R"sh(# Completion of conclave(1) in bash. Made by `conclave completion bash`.

# Lists nodes of a running server. Does not start one. Other users choose the names of nodes, so
# names are never expanded, and special characters are escaped.
_conclave_paths() {
  local typed=$2 name quoted=
  local -a names=()
  compopt -o nospace
  case $typed in
    [\"\']*) quoted=yes typed=${typed:1} ;;
    *) typed=${typed//\\/} ;;
  esac
  mapfile -t names < <("$1" completion paths -- "$typed" 2>/dev/null)
  for name in "${names[@]}"; do
    # Within quotes, a backslash would not escape every character.
    if [[ -z $quoted ]]; then
      printf -v name %q "$name"
    elif [[ $name == *[^[:alnum:]/._:@%+,=-]* ]]; then
      continue
    fi
    COMPREPLY+=("$name")
  done
}

_conclave() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command= word i
  COMPREPLY=()
  # bash splits --wait=5 into three words.
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case ${command:+$command }$word in
      )sh"
      << joined(words, "|") << R"sh() command=${command:+$command }$word ;;
    esac
)sh";
  if (!programs.empty())
    out << R"sh(    if [[ $word == -- ]]; then
      case $command in
        )sh"
        << joined(programs, "|") << R"sh()
          if declare -F _command_offset >/dev/null; then
            _command_offset $((i + 1))
          elif ((i + 1 == COMP_CWORD)); then
            COMPREPLY=($(compgen -c -- "$cur"))
          else
            compopt -o filenames
            COMPREPLY=($(compgen -f -- "$cur"))
          fi
          return ;;
      esac
    fi
)sh";
  out << R"sh(  done
  case $command:$prev in
)sh";
  for (const auto* const c : all) values(out, *c);
  out << R"sh(  esac
  case $command in
)sh";
  for (const auto* const c : all) others(out, *c);
  out << R"sh(  esac
}

complete -F _conclave conclave
)sh";
  return out.str();
}

}  // namespace conclave::cli
