// The reply to an asynchronous request. Several requests can be pending at a time.
//
//   pending<get_result> p;
//   zk.async_get(path, p.told());
//   ... other requests ...
//   auto [ec, got] = p.get();
#pragma once

#include <future>
#include <memory>
#include <utility>

#include "conclave/error.hpp"

namespace conclave::cli {

template <class Result>
class pending {
 public:
  auto told() const {
    return [p = promise_](error_code ec, Result r) { p->set_value({ec, std::move(r)}); };
  }
  // For operations that have no result besides the error code.
  auto told_of_end() const {
    return [p = promise_](error_code ec) { p->set_value({ec, Result{}}); };
  }
  // Waits for the reply. Call it once.
  std::pair<error_code, Result> get() { return promise_->get_future().get(); }

 private:
  using answer = std::promise<std::pair<error_code, Result>>;
  std::shared_ptr<answer> promise_ = std::make_shared<answer>();
};

}  // namespace conclave::cli
