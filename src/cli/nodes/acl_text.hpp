// ACLs in ZooKeeper's text form: world:anyone:r,digest:USER:HASH:cdrwa
#pragma once

#include <string>

#include "conclave/acl.hpp"

namespace conclave::cli {

// Returns the letters of "cdrwa" whose permissions are granted.
std::string permissions_text(std::int32_t permissions);

// Returns scheme:id:permissions.
std::string to_text(const acl_entry& e);

// If the text is malformed, throws a failure that shows the expected form.
acl parse_acl(const std::string& text);

}  // namespace conclave::cli
