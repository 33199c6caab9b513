#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/connect/local_server.hpp"
#include "cli/exit_code.hpp"
#include "cli/serve/serve.hpp"

namespace conclave::cli {

using namespace std::chrono_literals;

// The server has exclusive access to its file, so it must write the copy: see
// four_letter_words.cpp.
int backup(const std::filesystem::path& socket, const std::filesystem::path& to) {
  const auto target = std::filesystem::absolute(to).string();
  if (target.find('\n') != std::string::npos)
    throw std::runtime_error{"a backup's path has no line breaks"};
  constexpr auto no_timeout = 0ms;
  const auto answer = server_process::ask(socket, "bkup" + target + "\n", no_timeout);
  if (!answer)
    throw failure{unavailable, "cannot reach a server at unix:" + socket.string() + " (" +
                                   std::strerror(errno) + "); is it running? try: conclave serve"};
  if (*answer != "ok\n")
    throw failure{failed,
                  "no backup: " + (answer->empty() ? "the server ended without an answer"
                                                   : answer->substr(0, answer->find('\n')))};
  std::printf("%s\n", target.c_str());
  return ok;
}

}  // namespace conclave::cli
