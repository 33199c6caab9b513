// Sends many reads, a bounded number of them at a time. Blocking calls would cost one round trip
// each, and all reads at once would overload the server.
#pragma once

#include <algorithm>
#include <cstddef>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conclave/client.hpp"

namespace conclave::cli {

inline constexpr std::size_t requests_at_once = 256;

template <class Result>
struct async_reply {
  error_code ec;  // set if the node was removed or may not be read
  Result value{};
};

// Whether the error concerns the connection, not the node.
bool is_connection_error(const error_code& ec);

// start(i, handler) starts read i of n. Returns the replies in the same order. Throws if the server
// cannot be reached, and for invalid paths.
template <class Result, class Start>
std::vector<async_reply<Result>> request_all(client& zk, std::size_t n, const std::string& what,
                                             Start start) {
  std::vector<async_reply<Result>> all;
  all.reserve(n);
  for (std::size_t from = 0; from < n; from += requests_at_once) {
    const auto count = std::min(requests_at_once, n - from);
    struct round {
      explicit round(std::size_t c) : answers(c), left{static_cast<std::ptrdiff_t>(c)} {}
      std::vector<async_reply<Result>> answers;
      std::latch left;
    };
    const auto now = std::make_shared<round>(count);
    {
      const auto together = zk.begin_batch();
      for (std::size_t i = 0; i < count; ++i)
        start(from + i, [now, i](error_code ec, Result r) {
          now->answers[i] = {ec, std::move(r)};
          now->left.count_down();
        });
    }
    now->left.wait();
    for (auto& a : now->answers) {
      if (is_connection_error(a.ec) || a.ec == errc::invalid_path) throw error{a.ec, what};
      all.push_back(std::move(a));
    }
  }
  return all;
}

std::vector<async_reply<children_result>> children_of_all(client& zk,
                                                          const std::vector<std::string>& paths);
std::vector<async_reply<get_result>> get_all(client& zk, const std::vector<std::string>& paths);

}  // namespace conclave::cli
