// A lock on several paths at once: a caller holds all of them or none.
//
//   conclave::multi_mutex both{zk, {"/accounts/1", "/accounts/2"}};
//   std::scoped_lock guard{both};
//
// One transaction creates the contender's nodes on all paths. Two multi_mutexes therefore have the
// same order on every path they share and cannot deadlock. (std::lock on single mutexes avoids
// deadlock, too, but it may have to release locks that it has acquired and try again.) On each
// path, a multi_mutex excludes mutexes of this and other libraries.
//
// See exclusive_lock.hpp for the member functions, ownership, order and errors. One fencing token
// covers all paths.
#pragma once

#include <string>
#include <vector>

#include "conclave/exclusive_lock.hpp"

namespace conclave {

class multi_mutex : public exclusive_lock {
 public:
  // Duplicate paths count once. Throws errc::invalid_path, or errc::invalid_argument if there are
  // no paths or the layout has no exclusive locks.
  multi_mutex(client& c, std::vector<std::string> paths, lock_options options = {});
};

}  // namespace conclave
