// Known differences from Apache ZooKeeper 3.8.0. The embedded server deliberately behaves
// differently in these situations. Each is listed in the source file, and operations are changed so
// that it does not arise. Any other difference is a bug.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "differential/operation.hpp"

namespace conclave::differential {

// True for nodes below a name that begins with "s". Only these may be unreadable for some sessions.
bool may_be_secret(const std::string& path);

struct caller {
  std::size_t slot;
  std::uint64_t salt;  // the salt of the run
};

// Returns the operation, or a similar one that can be compared. The paths must be resolved.
operation comparable(operation o, const caller& by);

// Returns whether other requests may be sent before its reply has arrived.
bool may_be_followed(const operation& o);

}  // namespace conclave::differential
