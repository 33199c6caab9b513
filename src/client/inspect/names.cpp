#include "client/inspect/names.hpp"

#include <algorithm>
#include <utility>

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

std::optional<queue_layout> layout_of_queue(const std::vector<std::string>& children,
                                            const std::vector<std::string>* entries) {
  // Other programs may use a folder with this name for other purposes.
  const auto entry_names = names_of_queue({}, queue_layout::kazoo_locking);
  const bool is_locking =
      entries != nullptr && std::all_of(entries->begin(), entries->end(), [&](const auto& name) {
        return entry_names.parse(name).has_value();
      });
  if (is_locking && !entries->empty()) return queue_layout::kazoo_locking;
  for (const auto l : {queue_layout::zookeeper, queue_layout::kazoo}) {
    const auto names = names_of_queue({}, l);
    if (std::any_of(children.begin(), children.end(),
                    [&](const auto& name) { return names.parse(name).has_value(); }))
      return l;
  }
  return is_locking ? std::optional{queue_layout::kazoo_locking} : std::nullopt;
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
