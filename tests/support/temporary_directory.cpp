#include "temporary_directory.hpp"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace conclave::testing {

temporary_directory::temporary_directory() {
  const char* parent = std::getenv("TMPDIR");
  std::string name =
      std::string(parent != nullptr && *parent != '\0' ? parent : "/tmp") + "/conclave_test_XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(),
                            "cannot make a temporary folder " + name);
  }
  path_ = name;
}

temporary_directory::~temporary_directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace conclave::testing
