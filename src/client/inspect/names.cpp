#include "client/inspect/names.hpp"

#include <algorithm>
#include <utility>

#include "recipes/semaphore_names.hpp"
#include "recipes/sequence_number.hpp"

namespace conclave::client_impl {

known_layouts::known_layouts(std::vector<layout> extra) : all_{std::move(extra)} {
  all_.insert(all_.end(), layout::known().begin(), layout::known().end());
}

std::optional<known_layouts::contender> known_layouts::parse(std::string_view name) const {
  for (const auto& l : all_)
    if (const auto found = l.parse(name)) return contender{&l, *found};
  return {};
}

bool is_queue_item(std::string_view name) {
  static const recipes::queue_names plain{{}, queue_layout::zookeeper};
  static const recipes::queue_names entries{{}, queue_layout::kazoo};
  return plain.parse(name) || entries.parse(name);
}

bool is_sequential(std::string_view name) {
  const auto readings = recipes::split_sequence_number(name);
  return std::any_of(readings.begin(), readings.end(), [](const auto& r) { return r.has_value(); });
}

bool is_folder_of_recipe(std::string_view name) {
  static const recipes::queue_names locking{{}, queue_layout::kazoo_locking};
  return name == recipes::locks_folder || name == recipes::leases_folder ||
         name == last_name(locking.items()) || name == last_name(locking.claims());
}

recipes::queue_names names_of_queue(const std::string& path, queue_layout l) {
  return {path == "/" ? std::string{} : path, l};
}

std::optional<std::string> recipe_of_sibling(std::string_view path, std::string_view suffix) {
  const auto name = last_name(path);
  if (name.size() <= suffix.size() || !name.ends_with(suffix)) return {};
  return std::string{path.substr(0, path.size() - suffix.size())};
}

std::string child_path(const std::string& parent, std::string_view name) {
  auto path = parent == "/" ? parent : parent + '/';
  return path.append(name);
}

std::string parent_path(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string_view last_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace conclave::client_impl
