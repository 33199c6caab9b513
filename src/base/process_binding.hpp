// How a client and a server on a Unix socket know that they are at the two ends of it, without a
// relay between them.
//
// On its Unix socket the embedded server keeps a session for as long as the connection is open, and
// ends it with the process. That is right only if the process at the server's end is the client. So
// both send a number made of the machine's boot, the pid namespace, the server's process and the
// client's, each as the kernel names the other (SO_PEERCRED). The numbers agree if both speak of
// one connection; a relay (socat, ssh -L) is another process at one end at least.
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
