#include "cli/nodes/make_parents.hpp"

namespace conclave::cli {

void make_parents(client& zk, const std::string& path) {
  for (auto slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1))
    try {
      // The ACL is open because other users create nodes below the same parents.
      zk.create(path.substr(0, slash), {}, {create_mode::persistent, open_acl()});
    } catch (const error& e) {
      // A missing permission does not matter if the node exists.
      if (e.code() == errc::no_auth && zk.exists(path.substr(0, slash))) continue;
      if (e.code() != errc::node_exists) throw;
    }
}

}  // namespace conclave::cli
