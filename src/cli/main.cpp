// The main program: finds the command, runs it, and reports errors.
#include <fcntl.h>
#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <string_view>
#include <system_error>

#include <boost/system/system_error.hpp>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/non_empty.hpp"
#include "cli/program.hpp"
#include "cli/run/guard.hpp"
#include "cli/run/run_flags.hpp"
#include "cli/run/signals.hpp"
#include "conclave/error.hpp"

namespace {

using namespace conclave::cli;

// Returns true if the command takes all words after `--` literally. `word` is the name of the
// command.
bool takes_program(const std::string* word, const std::string* end) {
  if (word == end) return false;
  if (*word == "lock" || *word == "elect") return true;
  return *word == "queue" && word + 1 != end && (word[1] == "work" || word[1] == "push");
}

// CLI11 would treat the words after `--` as paths.
void split_off_program(std::vector<std::string>& words, std::size_t at, invocation& call) {
  if (!takes_program(words.data() + at, words.data() + words.size())) return;
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes == words.end()) return;
  call.has_program = true;
  call.program.assign(dashes + 1, words.end());
  words.erase(dashes, words.end());
}

// `conclave help queue push` means `conclave queue push --help`.
void read_help(std::vector<std::string>& words) {
  if (words.empty() || words[0] != "help") return;
  if (words.size() > 1 && words[1].starts_with('-')) return;
  words.erase(words.begin());
  words.emplace_back("--help");
}

// Returns the first option that the command does not know, among the options directly after its
// name.
const std::string* first_unknown_option(const named_command& c,
                                        const std::vector<std::string>& words) {
  for (auto i = c.next; i < words.size() && words[i].starts_with('-') && words[i] != "--"; ++i) {
    const bool is_long = words[i].starts_with("--");
    const auto name = is_long ? words[i].substr(0, words[i].find('=')) : words[i].substr(0, 2);
    const auto* const option = c.app->get_option_no_throw(name);
    if (option == nullptr) return &words[i];
    if (name == words[i] && option->get_items_expected_max() > 0) ++i;
  }
  return nullptr;
}

// Returns the first word --name= without a value. CLI11 would use the next word as the value.
const std::string* first_option_without_value(const std::vector<std::string>& words) {
  for (const auto& word : words) {
    if (word == "--") break;
    if (word.starts_with("--") && word.find('=') + 1 == word.size()) return &word;
  }
  return nullptr;
}

// Explains why a command line cannot be parsed, and what to do.
std::string advice(const CLI::ParseError& e, const named_command& c,
                   const std::vector<std::string>& given, const std::vector<std::string>& words) {
  if (const auto* const word = first_unknown_option(c, given)) return unknown_option(*c.app, *word);
  const bool runs = c.app->get_name() == "lock" || c.app->get_name() == "elect";
  if (runs && std::find(words.begin(), words.end(), "--") == words.end())
    return std::string{e.what()} + "; try: " + corrected_command_line(*c.app, words);
  std::string name;
  for (const auto* a = c.app; a->get_parent() != nullptr; a = a->get_parent())
    name = a->get_name() + " " + name;
  return std::string{e.what()} + "; see: conclave " + name + "--help";
}

// A closed descriptor 0, 1 or 2 would be used for the next file that is opened, and output would be
// written into that file. With the reserved descriptors, reading from 0 and writing to 1 and 2
// still fail, and a child process finds them closed.
void reserve_standard_descriptors() {
  for (const int fd : {0, 1, 2})
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)
      ::open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

int report(int code, std::string_view what) {
  std::cerr << "conclave: " << what << "\n";
  return code;
}

// Returns `code`, or cannot_write if the command succeeded and its output was lost.
int check_output(int code) {
  errno = 0;
  const bool written = static_cast<bool>(std::cout.flush()) && std::fflush(stdout) == 0;
  if (written || code != ok) return code;
  return report(cannot_write, std::string{"cannot write to standard output"} +
                                  (errno == 0 ? "" : std::string{": "} + std::strerror(errno)));
}

}  // namespace

int main(int argc, char** argv) {
  reserve_standard_descriptors();
  ignore_file_size_signal();
  // A second malloc arena for the client's thread costs more time than it saves.
  ::mallopt(M_ARENA_MAX, 1);
  std::vector<std::string> words{argv + 1, argv + argc};
  if (words.size() == 1 && words[0] == guard::argument) return guard::run_program();
  read_help(words);
  const auto given = words;
  invocation call;
  CLI::App app;
  const auto at = describe_program(app, call, words);
  const auto named = find_command(app, words, at);
  const bool is_group = !named.app->get_subcommands(std::function<bool(CLI::App*)>{}).empty();
  if (const auto* const word = first_unknown_option({&app, 0}, words))
    return report(usage, unknown_option(app, *word));
  const bool is_incomplete = is_group && named.next == words.size();
  if (is_group && !is_incomplete && !words[named.next].starts_with('-'))
    return report(usage, unknown_command(*named.app, words[named.next]));
  call.words = words;
  const auto begin = call.words.begin();
  std::rotate(begin, begin + static_cast<std::ptrdiff_t>(at),
              begin + static_cast<std::ptrdiff_t>(named.next));
  split_off_program(words, at, call);
  if (const auto* const word = first_option_without_value(words))
    return report(usage, word->substr(0, word->size() - 1) + ": " + non_empty({}));
  try {
    std::reverse(words.begin(), words.end());  // CLI11 expects the words in reverse order
    app.parse(std::move(words));
    pass_on_options(app);
    const int code = call.run();
    call.run = nullptr;
    if (code < 0) die_of(-code);
    return check_output(code);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return check_output(app.exit(e));  // help was requested
    if (is_incomplete) {
      std::cout << app.help();
      return usage;
    }
    return report(usage, advice(e, named, given, call.words));
  } catch (const failure& e) {
    return report(e.code, e.what());
  } catch (const std::invalid_argument& e) {
    return report(usage, e.what());
  } catch (const conclave::error& e) {
    return report(exit_code_of(e.code()), e.what());
  } catch (const std::system_error& e) {
    return report(is_shortage(e.code().value()) ? system_failure : failed, e.what());
  } catch (const boost::system::system_error& e) {
    return report(is_shortage(e.code().value()) ? system_failure : failed, e.what());
  } catch (const std::bad_alloc&) {
    return report(system_failure, "the system has no more memory");
  } catch (const std::exception& e) {
    return report(failed, e.what());
  }
}
