// Where a user's own server and settings are.
#pragma once

#include <filesystem>

namespace conclave::cli {

// The user's home by the user's id and not by $HOME, so that cron, sudo and a login shell mean the
// same one. Throws failure if there is none.
std::filesystem::path home_folder();

// Where the user's own server keeps its things: $CONCLAVE_LOCAL, or ~/.local/share/conclave. Throws
// failure if $CONCLAVE_LOCAL is relative.
std::filesystem::path data_folder();

// The socket of a server for all users of this machine (`conclave serve --system`).
inline constexpr const char* system_socket = "/run/conclave/socket";
inline constexpr const char* system_data = "/var/lib/conclave";
inline constexpr const char* system_group = "conclave";

}  // namespace conclave::cli
