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
    throw std::runtime_error{"the path of a backup must not contain line breaks"};
  // A server in another mount namespace (systemd's PrivateTmp) writes to another file of this name.
  // Only a file that appears here shows that the server wrote this one.
  std::error_code ec;
  if (std::filesystem::symlink_status(target, ec).type() != std::filesystem::file_type::not_found)
    throw failure{failed, "the backup failed: " + target +
                              (ec ? ": " + ec.message()
                                  : " exists already; "
                                    "choose another name for the backup")};
  constexpr auto no_timeout = 0ms;
  const auto answer = server_process::ask(socket, "bkup" + target + "\n", no_timeout);
  if (!answer)
    throw failure{unavailable, "cannot connect to the server at unix:" + socket.string() + " (" +
                                   std::strerror(errno) +
                                   "); check that it runs; try: conclave serve"};
  if (*answer != "ok\n")
    throw failure{
        failed, "the backup failed: " + (answer->empty() ? "the server exited without a reply"
                                                         : answer->substr(0, answer->find('\n')))};
  if (!std::filesystem::exists(target, ec))
    throw failure{failed, "the server wrote a backup, but " + target +
                              " is not there for this command; the server may see another folder "
                              "of this name (PrivateTmp of its systemd unit), choose a folder "
                              "that both see, for instance /var/lib/conclave"};
  std::printf("%s\n", target.c_str());
  return ok;
}

}  // namespace conclave::cli
