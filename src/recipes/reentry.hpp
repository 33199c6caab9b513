// Counts how often the owning thread has locked a recursive lock. Not safe for concurrent use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace conclave::recipes {

class reentry {
 public:
  enum class answer { not_yours, again, lost };

  // If this thread owns the lock and the hold is not lost, adds one to the count and returns
  // `again`. If the hold was lost, returns `lost`, because a new critical section must not begin
  // inside a lost hold.
  answer again(std::uint64_t thread, bool held);
  void first(std::uint64_t thread);
  // Returns true if this was the last level. The caller must then release the lock.
  bool unlock(std::uint64_t thread);
  std::size_t count(std::uint64_t thread) const { return thread_ == thread ? count_ : 0; }

 private:
  std::uint64_t thread_ = 0;  // 0 if there is no owner
  std::size_t count_ = 0;
};

}  // namespace conclave::recipes
