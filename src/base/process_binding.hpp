// Lets a client and a server on a Unix socket verify that they are connected directly, without a
// relay.
//
// On its Unix socket, the embedded server keeps a session while the connection is open and ends the
// session when the process exits. This is correct only if the process at the other end is the
// client itself. Client and server therefore both send a hash of the boot id, the pid namespace,
// the server's pid and the client's pid. Each side gets the pid of the other side from the kernel
// (SO_PEERCRED). With a relay between them (socat, ssh -L), at least one side gets the pid of the
// relay. So the hashes are equal only if there is no relay.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace conclave {

// Returns zero if the binding cannot be verified: the pid of a process is unknown (it is in a
// different pid namespace), or /proc is missing. Never returns 1 or 2, which have a different
// meaning in the protocol.
std::int32_t process_binding(pid_t server, pid_t client);

// Returns the pid of the process that called listen() or connect() at the other end of a Unix
// socket. Returns zero if the pid is unknown.
pid_t peer_process(int socket);

}  // namespace conclave
