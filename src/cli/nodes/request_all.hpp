// Sends many reads and collects the replies.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/nodes/in_batches.hpp"

namespace conclave::cli {

template <class Result>
struct async_reply {
  error_code ec;  // set if the node was removed or cannot be read
  Result value{};
};

// Returns whether the error concerns the connection and not the node.
bool is_connection_error(const error_code& ec);

// Calls start(i, handler) for each i below n to start read i. Returns the replies in the same
// order. Throws if the server cannot be reached or a path is invalid.
template <class Result, class Start>
std::vector<async_reply<Result>> request_all(client& zk, std::size_t n, const std::string& what,
                                             Start start) {
  std::vector<async_reply<Result>> all(n);
  in_batches(zk, n, [&](std::size_t i, auto done) {
    start(i, [&all, i, done](error_code ec, Result r) {
      all[i] = {ec, std::move(r)};
      done();
    });
  });
  for (const auto& reply : all)
    if (is_connection_error(reply.ec) || reply.ec == errc::invalid_path)
      throw error{reply.ec, what};
  return all;
}

}  // namespace conclave::cli
