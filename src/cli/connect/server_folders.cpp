#include "cli/connect/server_folders.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/connect/settings.hpp"
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

namespace {

// In a connect string, the text after one of these characters would be another server or a chroot.
std::filesystem::path without_separators(const std::filesystem::path& folder, const char* name) {
  if (folder.string().find_first_of(",:") == std::string::npos) return folder;
  throw failure{usage, std::string{name} + " is '" + folder.string() +
                           "'; set CONCLAVE_LOCAL to a folder without , and : in its path"};
}

}  // namespace

std::filesystem::path data_folder() {
  if (const char* const chosen = environment_variable("CONCLAVE_LOCAL"); chosen != nullptr) {
    // With a relative path, every working directory would silently have a different server.
    if (*chosen != '/')
      throw failure{usage,
                    std::string{"CONCLAVE_LOCAL is '"} + chosen + "'; it must be an absolute path"};
    return without_separators(chosen, "CONCLAVE_LOCAL");
  }
  return without_separators(home_folder() / ".local/share/conclave", "the folder of your server");
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
