#include "cli/connect/settings.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/connect/server_folders.hpp"
#include "cli/exit_code.hpp"

namespace conclave::cli {
namespace {

constexpr std::array names{
    "connect",  "session-timeout", "connect-timeout",       "auth-file",   "tls", "tls-ca",
    "tls-cert", "tls-key",         "tls-key-password-file", "tls-any-host"};

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

void read_file(const std::filesystem::path& file, settings& into) {
  std::error_code ec;
  if (std::filesystem::is_directory(file, ec))
    throw failure{usage, "cannot read " + file.string() + ": it is a folder"};
  std::ifstream in{file};
  if (!in) {
    const int why = errno;
    throw failure{
        is_shortage(why) ? system_failure : usage,
        "cannot read " + file.string() + ": " + std::strerror(why) +
            (is_shortage(why) ? ""
                              : "; CONCLAVE_CONFIG=/dev/null runs the command without settings")};
  }
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto position = file.string() + ":" + std::to_string(number);
    const auto equals = line.find('=');
    const auto name = trimmed(line.substr(0, equals));
    if (equals == std::string::npos || std::find(names.begin(), names.end(), name) == names.end()) {
      std::string known;
      for (const auto* n : names) known += std::string{known.empty() ? "" : ", "} + n;
      throw failure{usage,
                    position + ": '" + line +
                        "' is not a setting; write NAME = VALUE with one of these names: " + known};
    }
    const auto value = trimmed(line.substr(equals + 1));
    if (value.empty())
      throw failure{usage, position + ": " + name + " has no value; write one, or delete the line"};
    into.values[name] = value;
    into.positions[name] = position;
  }
}

// Returns false only if the file certainly does not exist. A file that cannot be examined counts as
// present, so that read_file() fails. Without its settings, the command would use a different
// server.
bool may_exist(const std::filesystem::path& file) {
  struct stat found {};
  return ::lstat(file.c_str(), &found) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

}  // namespace

std::string settings::value(const std::string& name) const {
  const auto found = values.find(name);
  return found == values.end() ? std::string{} : found->second;
}

const char* environment_variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value != '\0') return value;
  throw failure{usage, std::string{"the environment variable "} + name +
                           " is empty; set it to a value, or unset it"};
}

settings read_settings() {
  settings result;
  if (const char* const chosen = environment_variable("CONCLAVE_CONFIG"); chosen != nullptr) {
    read_file(chosen, result);
    return result;
  }
  const std::filesystem::path shared_file = "/etc/conclave/config";
  if (may_exist(shared_file)) read_file(shared_file, result);
  try {
    const auto own_file = home_folder() / ".config/conclave/config";
    if (may_exist(own_file)) read_file(own_file, result);
  } catch (const failure& e) {
    if (e.code != unavailable) throw;  // a user without a home folder has no settings file
  }
  return result;
}

}  // namespace conclave::cli
