// Several locks as one: all of them are held, or none.
//
//   conclave::multi_mutex both{zk, {"/accounts/1", "/accounts/2"}};
//   std::scoped_lock guard{both};
//
// It takes its places in all lines in one transaction, so two of them stand in the same order in
// every line they share, and can never wait for each other. (std::lock on single mutexes is safe
// from deadlock as well, but lets go and tries again.) Its contenders are those of mutex: on each
// path it excludes mutexes of this and other libraries.
//
// Its calls, and what holds for them, are those of exclusive_lock.hpp. One token is for all paths.
#pragma once

#include <string>
#include <vector>

#include "conclave/exclusive_lock.hpp"

namespace conclave {

class multi_mutex : public exclusive_lock {
 public:
  // Paths named twice count once. Throws errc::invalid_path, and errc::invalid_argument for none.
  multi_mutex(client& c, std::vector<std::string> paths, lock_options options = {});
};

}  // namespace conclave
