#include "cli/connect/server_folders.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"

namespace conclave::cli {

std::filesystem::path home_folder() {
  std::vector<char> buffer(16 * 1024);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 ||
      found == nullptr || found->pw_dir == nullptr || *found->pw_dir != '/')
    throw failure{unavailable,
                  "user " + std::to_string(::geteuid()) +
                      " has no home folder; set CONCLAVE_LOCAL to a folder for its server"};
  return found->pw_dir;
}

std::filesystem::path data_folder() {
  if (const char* const chosen = std::getenv("CONCLAVE_LOCAL");
      chosen != nullptr && *chosen != '\0') {
    // With a relative path, every working directory would silently have a different server.
    if (*chosen != '/')
      throw failure{usage,
                    std::string{"CONCLAVE_LOCAL is '"} + chosen + "'; it must be an absolute path"};
    return chosen;
  }
  return home_folder() / ".local/share/conclave";
}

namespace {

// The links that systemd creates for enabled units. They exist before the server starts and after a
// reboot.
constexpr auto enabled_service = "/etc/systemd/system/multi-user.target.wants/conclave.service";
constexpr auto enabled_socket = "/etc/systemd/system/sockets.target.wants/conclave.socket";

// Returns true if the path exists, even if this user is not permitted to see it.
bool path_exists(const std::string& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 || errno == EACCES;
}

}  // namespace

std::string find_system_server() {
  const auto folder = std::filesystem::path{system_socket}.parent_path().string();
  for (const auto& evidence : {folder, std::string{system_data}, std::string{enabled_service},
                               std::string{enabled_socket}})
    if (path_exists(evidence)) return evidence;
  return {};
}

}  // namespace conclave::cli
