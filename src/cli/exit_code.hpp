// The exit codes of the program. `conclave lock`, `elect` and `queue work` can also exit with the
// code of their command, or with 128 plus the number of the signal that ended the command.
#pragma once

#include <stdexcept>
#include <string>

#include "conclave/error.hpp"

namespace conclave::cli {

enum exit_code {
  ok = 0,
  failed = 1,           // also if a lock was not acquired or nothing was found
  usage = 64,           // wrong command line
  unavailable = 69,     // no server
  system_failure = 71,  // the system has run out of descriptors or processes
  cannot_write = 74,    // output was not written; a popped item was put back
  lost = 75,            // the lock or leadership was lost, or the command was ended because of it
  no_permission = 77,   // refused by an ACL
  disagrees = 78,       // other programs use the path with a different layout or number of permits
  deadlocked = 79,      // there is a deadlock
  possibly_deadlocked = 80,  // there may be a deadlock
  not_executable = 126,
  not_found = 127,
};

// Returns the exit code of a command that failed with this error.
int exit_code_of(const error_code& ec) noexcept;

// Returns true if this error means that the system has run out of descriptors, processes or memory.
bool is_shortage(int error_number) noexcept;

// Terminates the program with this signal. After Ctrl-C, a shell aborts its script only if the
// signal killed the command. A command returns a negative code to request this.
[[noreturn]] void die_of(int signal);

// Thrown to exit with this code and the message "conclave: WHAT" on stderr. `what` also says what
// to do.
struct failure : std::runtime_error {
  failure(int with_code, const std::string& what) : std::runtime_error{what}, code{with_code} {}
  int code;
};

}  // namespace conclave::cli
