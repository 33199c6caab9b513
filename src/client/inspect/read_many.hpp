// Sends many requests, but only a limited number at a time. Blocking calls would cost one round
// trip each, and sending all requests at once would overload the server.
#pragma once

#include <algorithm>
#include <cstddef>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/core.hpp"

namespace conclave::client_impl {

template <class Result>
struct reply_of {
  error_code ec;  // set if the node was removed or cannot be read
  Result value{};
};

// Returns true if the error concerns the connection or the request, and not the node.
bool is_fatal(const error_code& ec);

// start(i, handler) starts request i of n. Returns the replies in the same order. Throws if the
// server cannot be reached, if a path is invalid, or if this thread must not block.
template <class Result, class Start>
std::vector<reply_of<Result>> send_many(client& c, std::size_t n, const std::string& what,
                                        Start start) {
  constexpr std::size_t most = 256;
  const auto core = core_access::of(c);
  core->require_may_block(what);
  std::vector<reply_of<Result>> all;
  all.reserve(n);
  for (std::size_t from = 0; from < n; from += most) {
    const auto count = std::min(most, n - from);
    struct round {
      explicit round(std::size_t c) : replies(c), left{static_cast<std::ptrdiff_t>(c)} {}
      std::vector<reply_of<Result>> replies;
      std::latch left;
    };
    const auto now = std::make_shared<round>(count);
    {
      const auto batch = c.begin_batch();
      for (std::size_t i = 0; i < count; ++i)
        start(from + i, [now, i](error_code ec, Result r) {
          now->replies[i] = {ec, std::move(r)};
          now->left.count_down();
        });
    }
    now->left.wait();
    for (auto& reply : now->replies) {
      if (is_fatal(reply.ec)) core->fail(reply.ec, what);
      all.push_back(std::move(reply));
    }
  }
  return all;
}

// Lists nodes with any number of children: client_options::max_reply_bytes does not apply.
std::vector<reply_of<children_result>> list_all(client& c, const std::vector<std::string>& paths);
std::vector<reply_of<get_result>> get_all(client& c, const std::vector<std::string>& paths);

}  // namespace conclave::client_impl
