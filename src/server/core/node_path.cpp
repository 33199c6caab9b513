#include "server/core/node_path.hpp"

namespace conclave::server_impl {

bool is_system_node(std::string_view path) {
  return path == "/" || path == "/zookeeper" || path == "/zookeeper/quota" ||
         path == "/zookeeper/config";
}

}  // namespace conclave::server_impl
