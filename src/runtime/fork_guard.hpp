// Knowing that fork() happened.
//
// A child process has copies of its parent's descriptors and memory but none of its threads. If it
// sent a byte, closed a session or even removed a socket from the shared epoll set, its parent
// would suffer. So everything that belongs to the parent is left alone in a child: calls fail with
// errc::forked, and destructors do nothing.
#pragma once

#include <cstdint>

namespace conclave::runtime {

class fork_guard {
 public:
  fork_guard() noexcept;
  // This object was made before a fork(), and this is the child.
  bool in_child() const noexcept;

 private:
  std::uint64_t generation_;
};

}  // namespace conclave::runtime
