// Checks that files with passwords and keys are protected.
#pragma once

#include <string>

namespace conclave::cli {

// Throws failure if users other than the owner have access to the file. ssh checks keys in the same
// way. If the file belongs to root, its group may have access. Pipes and missing files are not
// checked.
void require_private(const std::string& file);

}  // namespace conclave::cli
