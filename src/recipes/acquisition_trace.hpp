// Passes the steps of one acquisition to the program's acquisition_tracer (tracer.hpp), in order,
// one at a time and without its exceptions.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "conclave/tracer.hpp"
#include "recipes/hold_state.hpp"

namespace conclave::recipes {

class acquisition_trace {
 public:
  // Returns null if the call is not traced.
  static std::shared_ptr<acquisition_trace> begin(tracer& t, const lock_call& call) noexcept;

  explicit acquisition_trace(std::unique_ptr<acquisition_tracer> to) : to_{std::move(to)} {}
  ~acquisition_trace();
  acquisition_trace(const acquisition_trace&) = delete;
  acquisition_trace& operator=(const acquisition_trace&) = delete;

  // Both functions must be called outside of a session_context::scope, at most once. `h` is the
  // hold of an acquired lock.
  void end_acquire(acquire_outcome outcome, const error_code& ec,
                   const std::shared_ptr<const hold_state>& h) noexcept;
  // May be called on another thread while end_acquire() runs. That thread then passes on the end.
  void end_hold(const error_code& why_lost) noexcept;

 private:
  void pass_on_end(const error_code& why_lost) noexcept;

  std::unique_ptr<acquisition_tracer> to_;
  std::mutex mutex_;
  bool holding_ = false;             // begin_hold() has returned
  std::optional<error_code> ended_;  // the hold ended before that
};

}  // namespace conclave::recipes
