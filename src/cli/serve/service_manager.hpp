// The interface of a service manager such as systemd: sd_listen_fds(3) and sd_notify(3). Both are
// stable and need a few lines. Linking libsystemd would make every command start later (decision
// 11).
#pragma once

#include <string_view>
#include <vector>

namespace conclave::cli {

// Returns the listening sockets that the service manager has passed to this process. They are
// closed at exec. Removes the variables that describe them, so a second call returns none.
std::vector<int> take_listening_sockets();

// Sends a state such as "READY=1" to the service manager. Does nothing if there is none. Returns
// false and sets errno if the message cannot be sent.
bool notify_service_manager(std::string_view state);

}  // namespace conclave::cli
