// How often the thread that has a lock has locked it. Not for several threads at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace conclave::recipes {

class reentry {
 public:
  enum class answer { not_yours, again, lost };

  // A count belongs to one hold: sections that rely on one that is over are broken, and another one
  // inside of them is not to be begun.
  answer again(std::uint64_t thread, bool held);
  void first(std::uint64_t thread);
  // Whether that was the last one, and the lock is to be released.
  bool unlock(std::uint64_t thread);
  std::size_t count(std::uint64_t thread) const { return thread_ == thread ? count_ : 0; }

 private:
  std::uint64_t thread_ = 0;  // 0: nobody
  std::size_t count_ = 0;
};

}  // namespace conclave::recipes
