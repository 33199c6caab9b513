// The folders of servers and settings: those of a user, and those of the server for all users of
// this machine.
#pragma once

#include <filesystem>
#include <string>

namespace conclave::cli {

// Returns the home folder that belongs to the user id, not $HOME. So cron, sudo and a login shell
// use the same folder. Throws failure if the user has no home folder.
std::filesystem::path home_folder();

// Returns the folder of the user's own server: $CONCLAVE_LOCAL, or ~/.local/share/conclave. Throws
// failure if $CONCLAVE_LOCAL is empty or relative, or if a connect string cannot contain the path.
std::filesystem::path data_folder();

// The server for all users of this machine (`conclave serve --system`).
inline constexpr const char* system_socket = "/run/conclave/socket";
inline constexpr const char* system_data = "/var/lib/conclave";
inline constexpr const char* system_group = "conclave";

// Returns a path that shows that this machine has a system server, running or not: the socket's
// folder, the data folder or an enabled systemd unit. Returns an empty string if none of these
// exists. If there is a system server, a private server must not be used, because its locks would
// not exclude the users of the system server.
std::string find_system_server();

}  // namespace conclave::cli
