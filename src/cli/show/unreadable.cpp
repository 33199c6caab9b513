#include "cli/show/unreadable.hpp"

#include "cli/show/text.hpp"

namespace conclave::cli {

std::string unreadable_sentence(const unreadable_node& n) {
  return "Cannot read " + printable(n.path) + ": " + n.why.message() + ".";
}

json::array unreadable_json(const std::vector<unreadable_node>& all) {
  json::array list;
  for (const auto& [path, why] : all)
    list.push_back(json::object{{"path", path}, {"why", why.message()}});
  return list;
}

}  // namespace conclave::cli
