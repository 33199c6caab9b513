#include "recipes/reentry.hpp"

namespace conclave::recipes {

reentry::answer reentry::again(std::uint64_t thread, bool held) {
  if (thread_ != thread) return answer::not_yours;
  if (!held) return answer::lost;
  ++count_;
  return answer::again;
}

void reentry::first(std::uint64_t thread) {
  thread_ = thread;
  count_ = 1;
}

bool reentry::unlock(std::uint64_t thread) {
  if (thread_ != thread || --count_ > 0) return false;
  thread_ = 0;
  return true;
}

}  // namespace conclave::recipes
