#include "server/listener/free_memory_trimmer.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace conclave::server_impl {
namespace {

constexpr std::size_t min_growth = 8u << 20;

std::size_t resident_bytes() {
  std::size_t total = 0, resident = 0;
  std::ifstream{"/proc/self/statm"} >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

void free_memory_trimmer::trim() {
  const auto resident = resident_bytes();
  if (resident < resident_after_trim_ + min_growth) {
    resident_after_trim_ = std::min(resident_after_trim_, resident);
    return;
  }
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
  resident_after_trim_ = resident_bytes();
}

}  // namespace conclave::server_impl
