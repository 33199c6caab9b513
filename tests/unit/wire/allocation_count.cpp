#include "allocation_count.hpp"

#include <cstdlib>
#include <new>

// In its own file. Otherwise g++ 12 sees malloc() where it expects operator new, and warns.
namespace {

std::size_t allocated = 0;

}  // namespace

void* operator new(std::size_t n) {
  allocated += n;
  if (void* p = std::malloc(n != 0 ? n : 1)) return p;
  throw std::bad_alloc{};
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace conclave::wire {

std::size_t allocated_bytes() noexcept { return allocated; }

}  // namespace conclave::wire
