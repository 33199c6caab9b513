// Files with passwords and keys.
#pragma once

#include <string>

namespace conclave::cli {

// Throws failure if others than the owner can read the file, as ssh does for keys. A group may read
// what root gives it. Pipes and files that cannot be looked at are left to whoever reads them.
void require_private(const std::string& file);

}  // namespace conclave::cli
