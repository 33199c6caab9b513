// How a client on a Unix socket knows that the server is at the other end of it, and not a relay.
//
// On its Unix socket the embedded server keeps a session for as long as the connection is open. The
// server says so with a number made of the machine's boot, the pid namespace, the server's process
// and the process that connected, as the kernel names them to the server (SO_PEERCRED). The client
// makes the same number of what the kernel names to the client. Both agree if the two processes
// share one connection; a relay (socat, ssh -L) has another process at each end.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace conclave {

// Never 1. Zero: nothing can be proved, since a process is unknown here (another pid namespace) or
// /proc is missing.
std::int32_t process_binding(pid_t server, pid_t client);

// The process at the other end of a Unix socket: the one that listened, or that connected. Zero:
// unknown.
pid_t peer_process(int socket);

}  // namespace conclave
