// A resource that a lock protects. It refuses writes with a lower token than the highest so far.
#pragma once

#include <cstdint>

namespace conclave::checkers {

class fenced_resource {
 public:
  // Returns false if the write was refused.
  bool write(std::int64_t token) {
    if (token < highest_) {
      ++refused_;
      return false;
    }
    highest_ = token;
    ++done_;
    return true;
  }
  std::int64_t highest() const noexcept { return highest_; }
  std::uint64_t done() const noexcept { return done_; }
  std::uint64_t refused() const noexcept { return refused_; }

 private:
  std::int64_t highest_ = 0;
  std::uint64_t done_ = 0, refused_ = 0;
};

}  // namespace conclave::checkers
