#include "client/inspect/read_many.hpp"

#include "client/contenders.hpp"

namespace conclave::client_impl {

bool is_fatal(const error_code& ec) {
  const bool concerns_node = ec == errc::no_node || ec == errc::no_auth ||
                             ec == errc::reply_too_large || ec == errc::not_empty ||
                             ec == errc::bad_version;
  return ec && !concerns_node;
}

std::vector<reply_of<children_result>> list_all(client& c, const std::vector<std::string>& paths) {
  const auto core = core_access::of(c);
  return send_many<children_result>(
      c, paths.size(), "read the tree", [&](std::size_t i, auto done) {
        start_listing(core, detail::handler<children_result>{std::move(done)}, paths[i]);
      });
}

std::vector<reply_of<get_result>> get_all(client& c, const std::vector<std::string>& paths) {
  return send_many<get_result>(c, paths.size(), "read nodes", [&](std::size_t i, auto done) {
    c.async_get(paths[i], std::move(done));
  });
}

}  // namespace conclave::client_impl
