#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/connect/local_server.hpp"
#include "cli/exit_code.hpp"
#include "cli/serve/serve.hpp"

namespace conclave::cli {

using namespace std::chrono_literals;

// The server has the file for itself, so it must write the copy: see four_letter_words.cpp.
int backup(const std::filesystem::path& socket, const std::filesystem::path& to) {
  const auto place = std::filesystem::absolute(to).string();
  if (place.find('\n') != std::string::npos)
    throw std::runtime_error{"a backup's path has no line breaks"};
  constexpr auto as_long_as_it_takes = 0ms;
  const auto answer = server_process::ask(socket, "bkup" + place + "\n", as_long_as_it_takes);
  if (!answer)
    throw failure{unavailable, "cannot reach a server at unix:" + socket.string() + " (" +
                                   std::strerror(errno) + "); is it running? try: conclave serve"};
  if (*answer != "ok\n")
    throw failure{failed,
                  "no backup: " + (answer->empty() ? "the server ended without an answer"
                                                   : answer->substr(0, answer->find('\n')))};
  std::printf("%s\n", place.c_str());
  return ok;
}

}  // namespace conclave::cli
