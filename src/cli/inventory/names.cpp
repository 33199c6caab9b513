#include "cli/inventory/names.hpp"

#include <algorithm>

#include "cli/run/requested_lock.hpp"

namespace conclave::cli {
namespace {

// The number at the end of a sequential node's name.
bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return (text.size() == 9 || text.size() == 10) &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

known_names::known_names(const std::string& extra) {
  if (!extra.empty()) all_.push_back({extra, parse_layout(extra)});
  all_.push_back({"curator", layout::curator()});
  all_.push_back({"kazoo", layout::kazoo()});
  all_.push_back({"zookeeper", layout::zookeeper()});
  all_.push_back({"zookeeper", layout::election(), true});
  all_.push_back({"leader_latch", layout::leader_latch(), true});
  all_.push_back({"lock-*-", layout::custom("lock-*-")});
  all_.push_back({"*-R-", layout::custom_shared("*-R-", "*-W-")});
}

std::optional<known_names::contender> known_names::parse(std::string_view name) const {
  for (const auto& l : all_)
    if (const auto found = l.names.parse(name)) return contender{&l, *found};
  return {};
}

bool is_queue_item(std::string_view name) {
  constexpr std::string_view plain = "qn-", entry = "entry-";
  if (name.starts_with(plain)) return is_number(name.substr(plain.size()));
  if (!name.starts_with(entry)) return false;
  name.remove_prefix(entry.size());
  return name.size() > 4 && name[3] == '-' && is_number(name.substr(4));
}

std::vector<std::string> with_siblings(const std::vector<std::string>& paths) {
  auto all = paths;
  for (const auto& path : paths) {
    if (path == "/") continue;
    all.push_back(path + std::string{queue_sibling_suffix});
    all.push_back(path + std::string{semaphore_sibling_suffix});
  }
  return all;
}

std::optional<std::string> sibling_owner(std::string_view path, std::string_view ending) {
  const auto name = last_name(path);
  if (name.size() <= ending.size() || !name.ends_with(ending)) return {};
  return std::string{path.substr(0, path.size() - ending.size())};
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

}  // namespace conclave::cli
