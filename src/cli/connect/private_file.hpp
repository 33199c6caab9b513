// Protection of files that contain passwords and keys.
#pragma once

#include <string>

namespace conclave::cli {

// Throws failure if users other than the owner have access to the file, as ssh does for keys. The
// group of a file that belongs to root may have access. Pipes and missing files are not checked.
void require_private(const std::string& file);

}  // namespace conclave::cli
