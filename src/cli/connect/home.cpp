#include "cli/connect/home.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
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
    // A relative path would silently mean another server in every working directory.
    if (*chosen != '/')
      throw failure{usage,
                    std::string{"CONCLAVE_LOCAL is '"} + chosen + "'; it must be an absolute path"};
    return chosen;
  }
  return home_folder() / ".local/share/conclave";
}

}  // namespace conclave::cli
