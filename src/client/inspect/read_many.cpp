#include "client/inspect/read_many.hpp"

namespace conclave::detail {

bool is_fatal(const error_code& ec) {
  return ec == errc::not_connected || ec == errc::connection_loss || ec == errc::session_expired ||
         ec == errc::closed || ec == errc::auth_failed || ec == errc::forked ||
         ec == errc::invalid_path || ec == boost::asio::error::operation_aborted;
}

std::vector<reply_of<children_result>> list_all(client& c, const std::vector<std::string>& paths) {
  return send_many<children_result>(
      c, paths.size(), "read the tree",
      [&](std::size_t i, auto done) { c.async_children(paths[i], std::move(done)); });
}

std::vector<reply_of<get_result>> get_all(client& c, const std::vector<std::string>& paths) {
  return send_many<get_result>(c, paths.size(), "read nodes", [&](std::size_t i, auto done) {
    c.async_get(paths[i], std::move(done));
  });
}

}  // namespace conclave::detail
