#include "cli/completion/scripts.hpp"

namespace conclave::cli {

value_kind kind_of_value(const std::string& name) {
  if (name == "FILE" || name == "PATH") return value_kind::file;
  if (name == "FOLDER" || name == "DIR") return value_kind::folder;
  return value_kind::anything;
}

value_kind kind_of_argument(const std::string& name) {
  return name == "PATH" ? value_kind::node : kind_of_value(name);
}

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const auto& w : words) {
    if (!text.empty()) text += between;
    text += w;
  }
  return text;
}

}  // namespace conclave::cli
