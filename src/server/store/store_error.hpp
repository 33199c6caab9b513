// Errors of a store. what() is a message for the operator.
#pragma once

#include <stdexcept>

namespace conclave::server_impl {

struct store_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// There is no space on the disk, and nothing was written. A later attempt may succeed when there is
// space.
struct disk_full : store_error {
  using store_error::store_error;
};

}  // namespace conclave::server_impl
