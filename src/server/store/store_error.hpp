// Why a store cannot be opened, read or written; what() is meant for the operator.
#pragma once

#include <stdexcept>

namespace conclave::server_impl {

struct store_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Nothing was written; it may work again when there is room.
struct disk_full : store_error {
  using store_error::store_error;
};

}  // namespace conclave::server_impl
