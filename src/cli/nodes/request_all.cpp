#include "cli/nodes/request_all.hpp"

namespace conclave::cli {

bool is_connection_error(const error_code& ec) {
  return ec == errc::not_connected || ec == errc::connection_loss || ec == errc::session_expired ||
         ec == errc::closed || ec == errc::auth_failed ||
         ec == boost::asio::error::operation_aborted;
}

}  // namespace conclave::cli
