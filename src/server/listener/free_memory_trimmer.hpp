// Returns free heap memory to the system after the process has grown.
#pragma once

#include <cstddef>

namespace conclave::server_impl {

class free_memory_trimmer {
 public:
  // Does nothing unless the resident memory has grown by 8 MiB since the last call that returned
  // memory. Blocks allocations of other threads for up to some ten milliseconds, because it visits
  // all free memory of the process.
  void trim();

 private:
  std::size_t resident_after_trim_ = 0;
};

}  // namespace conclave::server_impl
