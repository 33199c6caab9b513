// ACLs as ZooKeeper's users write them: world:anyone:r,digest:USER:HASH:cdrwa
#pragma once

#include <string>

#include "conclave/acl.hpp"

namespace conclave::cli {

// "cdrwa", without those that are not given.
std::string permissions_text(std::int32_t permissions);

// scheme:id:permissions
std::string to_text(const acl_entry& e);

// Throws failure that says what to write.
acl parse_acl(const std::string& text);

}  // namespace conclave::cli
