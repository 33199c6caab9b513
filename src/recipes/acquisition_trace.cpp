#include "recipes/acquisition_trace.hpp"

#include <utility>

namespace conclave {

void acquisition_tracer::end_acquire(acquire_outcome, const error_code&) {}
void acquisition_tracer::begin_hold(const hold&) {}
void acquisition_tracer::end_hold(const error_code&) {}

namespace recipes {
namespace {

template <class F>
void ignoring_exceptions(F f) noexcept {
  try {
    f();
  } catch (...) {
    return;  // a lock must not fail because of a tracer
  }
}

}  // namespace

std::shared_ptr<acquisition_trace> acquisition_trace::begin(tracer& t,
                                                            const lock_call& call) noexcept {
  std::unique_ptr<acquisition_tracer> to;
  ignoring_exceptions([&] { to = t.begin_acquire(call); });
  return to ? std::make_shared<acquisition_trace>(std::move(to)) : nullptr;
}

acquisition_trace::~acquisition_trace() = default;

void acquisition_trace::end_acquire(acquire_outcome outcome, const error_code& ec,
                                    const std::shared_ptr<const hold_state>& h) noexcept {
  const auto why = outcome == acquire_outcome::failed ? ec : error_code{};
  ignoring_exceptions([&] { to_->end_acquire(outcome, why); });
  if (outcome != acquire_outcome::acquired) return;
  ignoring_exceptions([&] { to_->begin_hold(hold{h}); });
  {
    const std::lock_guard lock{mutex_};
    holding_ = true;
    if (!ended_) return;
  }
  pass_on_end(*ended_);
}

void acquisition_trace::end_hold(const error_code& why_lost) noexcept {
  {
    const std::lock_guard lock{mutex_};
    if (!holding_) {
      ended_ = why_lost;
      return;
    }
  }
  pass_on_end(why_lost);
}

void acquisition_trace::pass_on_end(const error_code& why_lost) noexcept {
  ignoring_exceptions([&] { to_->end_hold(why_lost); });
}

}  // namespace recipes
}  // namespace conclave
