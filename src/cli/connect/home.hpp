// The folders of a user's own server and settings.
#pragma once

#include <filesystem>

namespace conclave::cli {

// The home folder of the user id, not $HOME. So cron, sudo and a login shell use the same folder.
// Throws failure if there is none.
std::filesystem::path home_folder();

// The folder of the user's own server: $CONCLAVE_LOCAL, or ~/.local/share/conclave. Throws failure
// if $CONCLAVE_LOCAL is relative.
std::filesystem::path data_folder();

// The server for all users of this machine (`conclave serve --system`).
inline constexpr const char* system_socket = "/run/conclave/socket";
inline constexpr const char* system_data = "/var/lib/conclave";
inline constexpr const char* system_group = "conclave";

}  // namespace conclave::cli
