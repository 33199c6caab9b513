#include <sstream>

#include "cli/completion/scripts.hpp"

namespace conclave::cli {
namespace {

std::string single_quoted(std::string text) {
  text = with(std::move(text), "\\", "\\\\");
  text = with(std::move(text), "'", "\\'");
  return "'" + with(std::move(text), "\n", " ") + "'";
}

std::string at(const command_info& c) {
  return "complete -c conclave -n '__conclave_at " + with(c.words, " ", "_") + "'";
}

std::string arguments_for(value_kind k) {
  switch (k) {
    case value_kind::file: return " -r -F";
    case value_kind::folder: return " -x -a '(__fish_complete_directories)'";
    case value_kind::node: return " -x -a '(__conclave_paths)'";
    case value_kind::anything: break;
  }
  return " -x";
}

void option(std::ostream& out, const command_info& c, const option_info& o) {
  out << at(c);
  for (const auto& name : o.names) {
    if (name.starts_with("--"))
      out << " -l " << name.substr(2);
    else
      out << " -s " << name.substr(1);
  }
  if (!o.choices.empty())
    out << " -x -a " << single_quoted(joined(o.choices, " "));
  else if (!o.value.empty() && !o.value_may_be_left_out)
    out << arguments_for(kind_of_value(o.value));
  if (!o.description.empty()) out << " -d " << single_quoted(first_words(o.description));
  out << "\n";
}

void command(std::ostream& out, const command_info& c) {
  for (const auto& sub : c.commands)
    if (!sub.hidden)
      out << at(c) << " -a " << sub.name << " -d " << single_quoted(sub.summary) << "\n";
  for (const auto& o : c.options) option(out, c, o);
  if (c.positionals.empty()) return;
  const auto& p = c.positionals.front();
  const auto k = kind_of_argument(p.name);
  if (!p.choices.empty()) out << at(c) << " -a " << single_quoted(joined(p.choices, " ")) << "\n";
  if (k == value_kind::node) out << at(c) << " -a '(__conclave_paths)'\n";
  if (k == value_kind::file || k == value_kind::folder) out << at(c) << " -F\n";
}

}  // namespace

std::string fish_completion(const command_info& root) {
  std::ostringstream out;
  const auto all = all_of(root);
  out << R"sh(# Completion of conclave(1) in fish. Made by `conclave completion fish`.

# Lists nodes of a running server. Does not start one.
function __conclave_paths
    conclave completion paths -- (commandline -ct) 2>/dev/null
end

# The command on the command line. Its words are joined by _.
function __conclave_command
    set -l found
    for word in (commandline -opc)[2..-1]
        test "$word" = --; and break
        switch (string join _ $found $word)
            case)sh";
  for (const auto* const c : all)
    if (!c->words.empty()) out << " " << with(c->words, " ", "_");
  out << R"sh(
                set -a found $word
        end
    end
    string join _ $found
end

function __conclave_at
    contains -- -- (commandline -opc); and return 1
    test "$(__conclave_command)" = "$argv[1]"
end

# The words after -- are another command line.
function __conclave_in_program
    contains -- -- (commandline -opc)
end
function __conclave_program
    set -l words (commandline -opc) (commandline -ct)
    set -l dashes (contains -i -- -- $words)
    complete -C (string join ' ' -- $words[(math $dashes + 1)..-1])
end

complete -c conclave -f
complete -c conclave -n __conclave_in_program -a '(__conclave_program)'
)sh";
  for (const auto* const c : all) command(out, *c);
  return out.str();
}

}  // namespace conclave::cli
