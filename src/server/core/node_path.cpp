#include "server/core/node_path.hpp"

namespace conclave::server_impl {
std::string_view parent_path(std::string_view path) {
  const auto slash = path.rfind('/');
  return path.substr(0, slash == 0 ? 1 : slash);
}

bool is_system_node(std::string_view path) {
  return path == "/" || path == "/zookeeper" || path == "/zookeeper/quota" ||
         path == "/zookeeper/config";
}

}  // namespace conclave::server_impl
