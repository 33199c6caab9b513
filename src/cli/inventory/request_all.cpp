#include "cli/inventory/request_all.hpp"

namespace conclave::cli {

bool is_connection_error(const error_code& ec) {
  return ec == errc::not_connected || ec == errc::connection_loss || ec == errc::session_expired ||
         ec == errc::closed || ec == errc::auth_failed ||
         ec == boost::asio::error::operation_aborted;
}

std::vector<async_reply<children_result>> children_of_all(client& zk,
                                                          const std::vector<std::string>& paths) {
  return request_all<children_result>(
      zk, paths.size(), "read the tree",
      [&](std::size_t i, auto done) { zk.async_children(paths[i], std::move(done)); });
}

std::vector<async_reply<get_result>> get_all(client& zk, const std::vector<std::string>& paths) {
  return request_all<get_result>(zk, paths.size(), "read nodes", [&](std::size_t i, auto done) {
    zk.async_get(paths[i], std::move(done));
  });
}

}  // namespace conclave::cli
