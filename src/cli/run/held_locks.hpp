// Locks that were held when we were started, by a `conclave` that runs us: waiting for one of them
// would never end. CONCLAVE_HELD tells of them; whether they are still held the server knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conclave/hold.hpp"

namespace conclave::cli {

struct held_lock {
  // Those of different kinds on one path are either the same lock or exclude each other, but for
  // permits and elections, which are locks of their own.
  enum class kind { exclusive, shared, permit, election };

  kind what = kind::exclusive;
  std::string hosts;               // of its server, as the client takes it
  std::vector<std::string> paths;  // canonical
  std::string node;                // one of its nodes
  std::int64_t session = 0;        // the node's owner

  static held_lock of(const hold& held, kind what, std::string hosts,
                      std::vector<std::string> paths);
};

class held_locks {
 public:
  static held_locks from_environment();

  // CONCLAVE_HELD for a program that runs under these and another one.
  std::pair<std::string, std::string> with(const held_lock& another) const;

  // Those that whoever waits for `wanted` waits for; its node and session do not matter.
  std::vector<held_lock> before(const held_lock& wanted) const;

 private:
  std::vector<held_lock> all_;
};

}  // namespace conclave::cli
