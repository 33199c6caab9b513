// Where a user's own server keeps its things.
#pragma once

#include <filesystem>

namespace conclave::cli {

// ~/.local/share/conclave, by the user's id and not by $HOME, so that cron, sudo and a login shell
// mean the same folder. Throws std::runtime_error if the user has no home.
std::filesystem::path data_folder();

}  // namespace conclave::cli
