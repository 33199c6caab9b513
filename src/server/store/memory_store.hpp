// A store without a disk, for servers without a data folder.
#pragma once

#include "server/core/rows.hpp"

namespace conclave::server_impl {

class memory_store final : public store {
 public:
  image load() override { return {}; }
  void commit(const batch& /*changes*/) override {}
};

}  // namespace conclave::server_impl
