// The nodes that inspection_cache keeps, and how inspect() reads through it.
#pragma once

#include <string>
#include <vector>

#include "client/inspect/read_many.hpp"
#include "conclave/inspect.hpp"

namespace conclave::client_impl {

struct cache_access {
  // Like client_impl::get_all(), but reads only the nodes that the cache does not contain.
  static std::vector<reply_of<get_result>> get_all(inspection_cache& cache, client& c,
                                                   const std::vector<std::string>& paths);
};

}  // namespace conclave::client_impl
