// Random paths, data, ACLs and versions. Most are valid, some are unusual or invalid.
#pragma once

#include <string>
#include <vector>

#include "differential/operation.hpp"
#include "differential/random_source.hpp"

namespace conclave::differential {

class random_fields {
 public:
  // `slots` is the number of sessions.
  random_fields(random_source& d, std::size_t slots) : random_{d}, slots_{slots} {}

  static path_ref named(text name);
  path_ref behind(path_ref::kind how, const std::string& name);
  path_ref path();
  // One of a few paths, so that the sessions use the same nodes.
  std::string usual_path();

  text data();
  // An ACL for the node. A node that may not be secret (avoidance.hpp) stays readable for all
  // sessions, and all sessions can change its ACL.
  std::vector<acl_entry> acl(const path_ref& path);
  version_ref version();

 private:
  text odd_path();
  std::int32_t some_permissions();
  acl_entry entry();
  acl_entry invalid_entry();

  random_source& random_;
  std::size_t slots_;
};

}  // namespace conclave::differential
