// Detects that the process was forked.
//
// A child process has copies of its parent's memory and descriptors, but none of its threads.
// Sending data, closing a session or changing the shared epoll set in the child would harm the
// parent. In a child process, calls on the parent's objects therefore fail with errc::forked, and
// their destructors do nothing.
#pragma once

#include <cstdint>

namespace conclave::runtime {

class fork_guard {
 public:
  fork_guard() noexcept;
  // Returns true in a child process if this object was created before the fork().
  bool in_child() const noexcept;

 private:
  std::uint64_t generation_;
};

}  // namespace conclave::runtime
