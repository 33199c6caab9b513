// The reply to an asynchronous request. Several requests can be pending at a time.
//
//   pending<get_result> p;
//   zk.async_get(path, p.handler());
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
  auto handler() const {
    return [p = promise_](error_code ec, Result r) { p->set_value({ec, std::move(r)}); };
  }
  // The handler for operations that return only an error code.
  auto completion_handler() const {
    return [p = promise_](error_code ec) { p->set_value({ec, Result{}}); };
  }
  // Waits for the reply. Must be called only once.
  std::pair<error_code, Result> get() { return promise_->get_future().get(); }

 private:
  using reply_promise = std::promise<std::pair<error_code, Result>>;
  std::shared_ptr<reply_promise> promise_ = std::make_shared<reply_promise>();
};

}  // namespace conclave::cli
