// Frees the unused capacity of containers that were much larger before.
#pragma once

#include <cstddef>

namespace conclave::server_impl {

// Reduces the capacity of a vector, a string or a hash table to its size, if most of the capacity
// is unused. Elements of a hash table keep their addresses.
template <class Container>
void shrink(Container& c) {
  constexpr std::size_t kept = 1024;  // not worth the work
  const auto is_unused = [&](std::size_t capacity) {
    return capacity > kept && capacity / 4 > c.size();
  };
  if constexpr (requires { c.bucket_count(); }) {
    if (is_unused(c.bucket_count())) c.rehash(0);
  } else {
    if (is_unused(c.capacity())) c.shrink_to_fit();
  }
}

}  // namespace conclave::server_impl
