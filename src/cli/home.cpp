#include "cli/home.hpp"

#include <pwd.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace conclave::cli {

std::filesystem::path data_folder() {
  std::vector<char> buffer(16 * 1024);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 ||
      found == nullptr || found->pw_dir == nullptr || *found->pw_dir != '/')
    throw std::runtime_error{"user " + std::to_string(::geteuid()) +
                             " has no home folder; name one with --data"};
  return std::filesystem::path{found->pw_dir} / ".local/share/conclave";
}

}  // namespace conclave::cli
