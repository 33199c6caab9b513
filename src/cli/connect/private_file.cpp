#include "cli/connect/private_file.hpp"

#include <sys/stat.h>

#include <array>
#include <cstdio>

#include "cli/exit_code.hpp"

namespace conclave::cli {

void require_private(const std::string& file) {
  struct stat found {};
  if (file.empty() || ::stat(file.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return;
  const mode_t others = found.st_uid == 0 ? S_IRWXO : S_IRWXG | S_IRWXO;
  if ((found.st_mode & others) == 0) return;
  std::array<char, 8> mode{};
  std::snprintf(mode.data(), mode.size(), "%04o", found.st_mode & 07777);
  throw failure{usage, file + " contains a secret, but other users have access to it (mode " +
                           mode.data() + "); run: chmod 600 " + file};
}

}  // namespace conclave::cli
