// The locks that are held by the `conclave` processes among our ancestors. If we waited for one of
// these locks, we would wait forever. CONCLAVE_HELD lists these locks, but only the server knows
// whether they are still held.
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
  // An exclusive lock excludes exclusive and shared locks on the same path. Permits and elections
  // on the same path are separate locks.
  enum class kind { exclusive, shared, permit, election };

  kind what = kind::exclusive;
  std::string hosts;               // connect string of the server
  std::vector<std::string> paths;  // canonical
  std::string node;                // one of the lock's nodes
  std::int64_t session = 0;        // the owner of the node

  static held_lock of(const hold& held, kind what, std::string hosts,
                      std::vector<std::string> paths);
};

class held_locks {
 public:
  static held_locks from_environment();

  // Returns the variable CONCLAVE_HELD for a program that runs under these locks and `another`.
  std::pair<std::string, std::string> with(const held_lock& another) const;

  // Returns the locks that exclude `wanted`. Ignores the node and session of `wanted`.
  std::vector<held_lock> blocking(const held_lock& wanted) const;

 private:
  std::vector<held_lock> all_;
};

}  // namespace conclave::cli
