// The command line: finds the command, and tells what went wrong.
#include <malloc.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <string_view>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/program.hpp"
#include "cli/run/right_line.hpp"
#include "conclave/error.hpp"

namespace {

using namespace conclave::cli;

bool takes_the_rest(const std::vector<std::string>& words) {
  if (words.empty()) return false;
  if (words[0] == "lock" || words[0] == "elect") return true;
  return words[0] == "queue" && words.size() > 1 && (words[1] == "work" || words[1] == "push");
}

// CLI11 would take what follows `--` for paths.
void split_off_program(std::vector<std::string>& words, invocation& call) {
  if (!takes_the_rest(words)) return;
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes == words.end()) return;
  call.has_program = true;
  call.program.assign(dashes + 1, words.end());
  words.erase(dashes, words.end());
}

int code_of(const conclave::error& e) {
  using conclave::errc;
  if (e.code() == errc::not_connected || e.code() == errc::connection_loss ||
      e.code() == errc::session_expired || e.code() == errc::tls_failed ||
      e.code() == errc::system_error || e.code() == errc::auth_failed)
    return unavailable;
  if (e.code() == errc::invalid_path || e.code() == errc::invalid_argument ||
      e.code() == errc::bad_connect_string || e.code() == errc::bad_secret)
    return usage;
  if (e.code() == errc::lock_lost) return lost;
  return failed;
}

// What to do about a command line that cannot be read.
std::string advice(CLI::App& app, const std::vector<std::string>& words) {
  const bool runs = !words.empty() && (words[0] == "lock" || words[0] == "elect");
  if (runs && std::find(words.begin(), words.end(), "--") == words.end())
    return "; the command stands behind --; try: " +
           right_line(*app.get_subcommand(words[0]), words);
  const bool known = !words.empty() && !words[0].starts_with("-");
  return "; see: conclave " + (known ? words[0] + " " : std::string{}) + "--help";
}

int complain(int code, std::string_view what) {
  std::cerr << "conclave: " << what << "\n";
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  ::mallopt(M_ARENA_MAX, 1);  // a second heap for the client's thread costs more than it spares
  std::vector<std::string> words{argv + 1, argv + argc};
  invocation call;
  call.words = words;
  split_off_program(words, call);
  CLI::App app;
  describe_program(app, call, words.empty() ? std::string{} : words.front());
  try {
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    app.parse(std::move(words));
    const int code = call.run();
    call.run = nullptr;
    if (code < 0) die_of(-code);
    return code;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // help
    return complain(usage, e.what() + advice(app, call.words));
  } catch (const failure& e) {
    return complain(e.code, e.what());
  } catch (const std::invalid_argument& e) {
    return complain(usage, e.what());
  } catch (const conclave::error& e) {
    return complain(code_of(e), e.what());
  } catch (const std::exception& e) {
    return complain(failed, e.what());
  }
}
