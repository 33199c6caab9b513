// Random requests of every type.
#pragma once

#include "differential/operation.hpp"
#include "differential/random_fields.hpp"
#include "differential/random_source.hpp"

namespace conclave::differential {

class random_operations {
 public:
  random_operations(random_source& d, std::size_t slots) : random_{d}, fields_{d, slots} {}

  // A request that can be sent together with others.
  operation any();
  // A malformed, unknown or very long request.
  operation odd();
  operation authentication();
  operation set_watches();
  operation creation(wire::opcode type);

 private:
  operation of(wire::opcode type);
  wire::opcode kind_of_creation();
  operation part_of_multi();
  operation multi();
  operation multi_read();
  operation read();
  operation about_watches(wire::opcode type);
  operation set_acl();

  random_source& random_;
  random_fields fields_;
};

}  // namespace conclave::differential
