// The command line: finds the command, and tells what went wrong.
#include <malloc.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <string_view>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/program.hpp"
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
      e.code() == errc::session_expired || e.code() == errc::tls_failed)
    return unavailable;
  if (e.code() == errc::invalid_path || e.code() == errc::invalid_argument ||
      e.code() == errc::bad_connect_string || e.code() == errc::bad_secret)
    return usage;
  if (e.code() == errc::lock_lost) return lost;
  return failed;
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
  split_off_program(words, call);
  CLI::App app;
  describe_program(app, call, words.empty() ? std::string{} : words.front());
  try {
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    app.parse(std::move(words));
    return call.run();
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? ok : usage;
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
