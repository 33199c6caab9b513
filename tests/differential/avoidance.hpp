// Where Apache ZooKeeper 3.8.0 does what we do not want to copy, the two cannot be compared. Each
// such situation is listed in the source and kept from arising; there is no other excuse for a
// difference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "differential/operation.hpp"

namespace conclave::differential {

// A node below a name that begins with "s" may be unreadable to some; all others are readable.
bool may_be_secret(const std::string& path);

struct caller {
  std::size_t slot;
  std::uint64_t salt;  // of a run
};

// The operation, or one that is close to it and can be compared. Its paths are resolved.
operation comparable(operation o, const caller& by);

// Whether others may be sent behind it without waiting for its reply.
bool may_be_followed(const operation& o);

}  // namespace conclave::differential
