// Paths, data, ACLs and versions: mostly such that something happens, now and then odd.
#pragma once

#include <string>
#include <vector>

#include "differential/dice.hpp"
#include "differential/operation.hpp"

namespace conclave::differential {

class random_fields {
 public:
  // For that many sessions.
  random_fields(dice& d, std::size_t slots) : dice_{d}, slots_{slots} {}

  static path_ref named(text name);
  path_ref behind(path_ref::kind how, const std::string& name);
  path_ref path();
  // One of a few, so that sessions meet.
  std::string usual_path();

  text data();
  // For the node there: one that is not secret (avoidance.hpp) stays readable for all, and its ACL
  // can be changed by all.
  std::vector<acl_entry> acl(const path_ref& path);
  version_ref version();

 private:
  text odd_path();
  std::int32_t some_permissions();
  acl_entry entry();
  acl_entry invalid_entry();

  dice& dice_;
  std::size_t slots_;
};

}  // namespace conclave::differential
