// Blocking calls: a thread starts an asynchronous operation and waits for its result.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "client/core.hpp"

namespace conclave::detail {

// Starts the operation and blocks this thread until it completes. Throws conclave::error if the
// operation fails. Refuses to run on the I/O thread (errc::would_deadlock) and in a forked child
// process (errc::forked).
template <class Result, class... Parameters, class... Arguments>
Result block(const char* what, const core_pointer& core,
             void (*start)(const core_pointer&, receiver<Result>, Parameters...),
             Arguments&&... arguments) {
  auto& loop = core->driver->loop();
  const auto refuse_on = [&](errc e) { throw error{e, what}; };
  if (loop.in_child()) refuse_on(errc::forked);
  if (loop.is_current()) refuse_on(errc::would_deadlock);
  blocking_call<Result> waiting;
  start(core, &waiting, static_cast<Parameters>(std::forward<Arguments>(arguments))...);
  waiting.done.wait();
  if constexpr (std::is_same_v<Result, transaction_result>) {
    if (const auto i = waiting.result.failed_part(); waiting.ec && i)
      throw transaction_error{waiting.ec, std::string{what} + ": part " + std::to_string(*i),
                              waiting.result, *i};
  }
  if (waiting.ec == errc::not_connected) {
    const auto why =
        core->driver->ask(std::string{}, [](const auto& m) { return m.last_failure(); });
    throw error{waiting.ec, why.empty() ? what : std::string{what} + " (" + why + ")"};
  }
  if (waiting.ec) throw error{waiting.ec, what};
  if constexpr (!std::is_void_v<Result>) return std::move(waiting.result);
}

}  // namespace conclave::detail
