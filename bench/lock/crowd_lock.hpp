// A lock that is asked for without a thread to wait for it: of this library, or the naive one.
#pragma once

#include <functional>
#include <memory>

#include <conclave/client.hpp>

#include "contest.hpp"

namespace conclave::bench {

class crowd_lock {
 public:
  virtual ~crowd_lock() = default;
  virtual void lock(std::function<void(error_code)> done) = 0;
  virtual void unlock() = 0;
};

// Of the kind that the plan's mode tells.
std::unique_ptr<crowd_lock> make_crowd_lock(client& zk, const contest_plan& plan);

// In which every waiter watches the list of all contenders and reads it again at every change: how
// it is done in many a first program, and what the others are there to avoid.
std::unique_ptr<crowd_lock> make_naive_lock(client& zk, const std::string& path);

}  // namespace conclave::bench
