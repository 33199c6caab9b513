#include "text_file.hpp"

#include <fstream>
#include <sstream>

namespace conclave::bench {

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

}  // namespace conclave::bench
