#include "cli/connect/system_server.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "cli/connect/home.hpp"

namespace conclave::cli {
namespace {

// The link that systemd creates for an enabled unit. It exists before the server starts and after a
// reboot.
constexpr auto enabled_unit = "/etc/systemd/system/multi-user.target.wants/conclave.service";

// Whether the path exists, even if this user may not see it.
bool is_there(const std::string& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0 || errno == EACCES;
}

}  // namespace

std::string sign_of_system_server() {
  const auto folder = std::filesystem::path{system_socket}.parent_path().string();
  for (const auto& sign : {folder, std::string{system_data}, std::string{enabled_unit}})
    if (is_there(sign)) return sign;
  return {};
}

}  // namespace conclave::cli
