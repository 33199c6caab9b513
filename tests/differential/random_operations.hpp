// Requests of every kind.
#pragma once

#include "differential/dice.hpp"
#include "differential/operation.hpp"
#include "differential/random_fields.hpp"

namespace conclave::differential {

class random_operations {
 public:
  random_operations(dice& d, std::size_t slots) : dice_{d}, fields_{d, slots} {}

  // One that can stand between others in one go.
  operation any();
  // Malformed, unknown, as long as can be.
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

  dice& dice_;
  random_fields fields_;
};

}  // namespace conclave::differential
