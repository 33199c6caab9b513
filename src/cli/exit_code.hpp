// How the program ends: `conclave lock` and its kin also end with their command's own code, or with
// 128 and the signal that ended it.
#pragma once

#include <stdexcept>
#include <string>

#include "conclave/error.hpp"

namespace conclave::cli {

enum exit_code {
  ok = 0,
  failed = 1,           // and: not acquired, nothing there
  usage = 64,           // the command line makes no sense
  unavailable = 69,     // no server
  system_failure = 71,  // the system refuses what we need: descriptors, processes
  cannot_write = 74,    // what was taken was put back
  lost = 75,            // the lock, or leadership, was lost, or the command ended for its sake
  no_permission = 77,   // refused by an ACL
  disagrees = 78,       // others use the path with another layout or number of permits
  not_executable = 126,
  not_found = 127,
};

// What a command ends with that failed with this error.
int exit_code_of(const error_code& ec) noexcept;

// A code below zero is a signal of which the program is to die, when everything is in order. A
// shell that was interrupted goes on with its script unless the command died of that, too.
[[noreturn]] void die_of(int signal);

// Ends the program with a line on stderr, "conclave: what", which says what to do.
struct failure : std::runtime_error {
  failure(int with_code, const std::string& what) : std::runtime_error{what}, code{with_code} {}
  int code;
};

}  // namespace conclave::cli
