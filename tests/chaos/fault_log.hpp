// The faults of a run, in order. Thread-safe.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "chaos/history.hpp"

namespace conclave::chaos {

struct fault {
  nanoseconds at = 0;  // shortly before the fault
  std::string kind;
  std::string target;              // a worker's or a server's name
  std::vector<std::size_t> slots;  // the affected workers
  nanoseconds until = 0;           // when it is healed; 0 if it needs no healing
  bool of_server = false;
};

class fault_log {
 public:
  // Returns the index in all().
  std::size_t add(fault f) {
    const std::lock_guard lock{mutex_};
    all_.push_back(std::move(f));
    return all_.size() - 1;
  }
  void healed(std::size_t which) {
    const std::lock_guard lock{mutex_};
    all_.at(which).until = now();
  }
  std::vector<fault> all() const {
    const std::lock_guard lock{mutex_};
    return all_;
  }
  std::vector<fault> since(std::size_t first) const {
    const std::lock_guard lock{mutex_};
    return {all_.begin() + static_cast<std::ptrdiff_t>(first), all_.end()};
  }

 private:
  mutable std::mutex mutex_;
  std::vector<fault> all_;
};

}  // namespace conclave::chaos
