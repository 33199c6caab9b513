#include "recipes/recipe_path.hpp"

#include <string_view>

#include "base/valid_path.hpp"
#include "conclave/error.hpp"
#include "recipes/queue/names.hpp"
#include "recipes/semaphore_names.hpp"

namespace conclave::recipes {
namespace {

// Returns the thing for which a recipe would mistake a child of this name. Empty if there is none.
std::string_view mistaken_for(std::string_view name, const layout* names) {
  static const queue_names items{{}, queue_layout::zookeeper}, entries{{}, queue_layout::kazoo};
  if (layout::in_known_layout(name) || (names != nullptr && names->parse(name))) return "contender";
  if (parse_lease(name)) return "permit";
  if (items.parse(name) || entries.parse(name)) return "queue item";
  return {};
}

void check(const std::string& recipe, const std::string& path, const layout* names) {
  const auto what = recipe + ' ' + path;
  if (!valid_path(path) || path == "/") throw error{errc::invalid_path, what};
  for (std::size_t slash = 0; slash != path.npos;) {
    const auto next = path.find('/', slash + 1);
    const auto name = path.substr(slash + 1, next == path.npos ? next : next - slash - 1);
    if (const auto other = mistaken_for(name, names); !other.empty())
      throw error{errc::invalid_path, what + " ('" + name + "' looks like the node of a " +
                                          std::string{other} + " at " +
                                          (slash == 0 ? "/" : path.substr(0, slash)) +
                                          "; use a name that does not end with ten digits)"};
    slash = next;
  }
}

}  // namespace

void require_recipe_path(const std::string& recipe, const std::string& path) {
  check(recipe, path, nullptr);
}

void require_recipe_path(const std::string& recipe, const std::string& path, const layout& names) {
  check(recipe, path, &names);
}

}  // namespace conclave::recipes
