#include "conclave/inspect.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "client/contenders.hpp"
#include "client/inspect/cache.hpp"
#include "client/inspect/find_recipes.hpp"
#include "client/inspect/read_many.hpp"
#include "recipes/contender_data.hpp"
#include "recipes/parent_record.hpp"
#include "recipes/semaphore_names.hpp"

namespace conclave {
namespace {

using client_impl::cache_access;
using client_impl::found_recipe;
using client_impl::get_all;
using client_impl::listed_contender;
using client_impl::parent_path;
using kind = recipe_info::kind;
using presence = listed_contender::presence;
using rule = found_recipe::rule;

bool is_ours(const get_result& node) {
  const auto data = recipes::parse_contender_data(node.data);
  return data.asked_to_release || !data.id.empty();
}

void read_contenders(client& c, std::vector<found_recipe>& all, inspection& result,
                     inspection_cache* cache) {
  std::vector<listed_contender*> whom;
  std::vector<std::string> paths;
  for (auto& f : all)
    for (auto* const contenders : {&f.holders, &f.wait_queue})
      for (auto& e : *contenders) {
        whom.push_back(&e);
        paths.push_back(e.info.node);
      }
  const auto replies =
      cache == nullptr ? get_all(c, paths) : cache_access::get_all(*cache, c, paths);
  for (std::size_t i = 0; i < whom.size(); ++i) {
    auto& e = *whom[i];
    const auto& [ec, node] = replies[i];
    // A node that cannot be read still counts if its name shows that it is a contender.
    const bool present =
        e.state == presence::present_if_conclave_node ? !ec && is_ours(node) : ec != errc::no_node;
    if (!present) e.state = presence::absent;
    if (ec && present) result.unreadable.push_back({paths[i], ec});
    e.info.readable = !ec;
    if (!ec) client_impl::set_node_info(e.info, node);
  }
}

// The number of permits of kazoo's semaphore is the data of its path.
std::optional<int> kazoo_permits(const std::string& data) {
  int n = 0;
  const auto* const end = data.data() + data.size();
  const auto [stop, ec] = std::from_chars(data.data(), end, n);
  return ec == std::errc{} && stop == end ? std::optional{n} : std::nullopt;
}

void read_paths(client& c, std::vector<found_recipe>& all) {
  std::vector<found_recipe*> which;
  std::vector<std::string> paths;
  for (auto& f : all) {
    if (!f.needs_path_data) continue;
    which.push_back(&f);
    paths.push_back(f.info.path);
  }
  const auto replies = get_all(c, paths);
  for (std::size_t i = 0; i < which.size(); ++i) {
    const auto& node = replies[i].value;
    auto& info = which[i]->info;
    if (info.what == kind::unused) {
      if (recipes::is_parent_record(node.data)) info.what = kind::lock;
    } else if (which[i]->granted_when != rule::permits) {
      info.permits = kazoo_permits(node.data);
    } else if (const auto recorded = recorded_permits(node)) {
      info.permits = static_cast<int>(*recorded);
    }
  }
}

void date_grants(client& c, std::vector<found_recipe>& all) {
  std::vector<std::vector<listed_contender>*> which;
  std::vector<std::string> paths;
  for (auto& f : all) {
    auto& contenders = f.granted_when == rule::first_in_wait_queue ? f.wait_queue : f.holders;
    if (contenders.empty()) continue;
    if (f.granted_when == rule::node_created) {
      for (auto& e : contenders)
        if (e.info.readable) e.info.granted = grant_time{e.info.since, e.info.since};
      continue;
    }
    which.push_back(&contenders);
    paths.push_back(parent_path(contenders.front().info.node));
  }
  const auto replies = get_all(c, paths);
  for (std::size_t i = 0; i < which.size(); ++i)
    client_impl::estimate_grants(replies[i].value, *which[i]);
}

}  // namespace

inspection inspect(client& c, const std::vector<std::string>& paths,
                   const inspect_options& options) {
  const client_impl::known_layouts layouts{options.layouts};
  inspection result;
  auto tree = client_impl::read_tree(c, paths, layouts);
  result.unreadable = std::move(tree.unreadable);
  auto found = client_impl::find_recipes(tree, layouts, options.include_unused);
  read_contenders(c, found, result, options.cache.get());
  read_paths(c, found);
  for (auto& f : found) client_impl::find_holders(f);
  std::erase_if(found, [&](const found_recipe& f) {
    const bool in_use = !f.holders.empty() || !f.wait_queue.empty() || f.info.in_use();
    return !in_use && !(options.include_unused && f.kind_is_certain);
  });
  std::sort(found.begin(), found.end(), [](const found_recipe& a, const found_recipe& b) {
    return std::tie(a.info.path, a.info.layout) < std::tie(b.info.path, b.info.layout);
  });
  date_grants(c, found);
  for (auto& f : found) result.recipes.push_back(client_impl::to_recipe_info(std::move(f)));
  return result;
}

std::vector<std::string> inspected_paths(const std::vector<std::string>& paths) {
  auto all = paths;
  for (const auto& path : paths) {
    if (path == "/") continue;
    all.push_back(path + std::string{client_impl::queue_sibling_suffix});
    all.push_back(path + std::string{client_impl::semaphore_sibling_suffix});
  }
  return all;
}

const char* to_string(recipe_info::kind k) noexcept {
  switch (k) {
    case kind::lock: return "lock";
    case kind::read_write_lock: return "read-write lock";
    case kind::semaphore: return "semaphore";
    case kind::queue: return "queue";
    case kind::election: return "election";
    case kind::unused: return "unused";
  }
  return "";
}

// --- single nodes

bool is_recipe_node(std::string_view name) {
  static const client_impl::known_layouts layouts;
  return layouts.parse(name) || recipes::parse_lease(name) || client_impl::is_queue_item(name) ||
         client_impl::recipe_of_sibling(name, client_impl::queue_sibling_suffix);
}

std::string recipe_path_of(const std::string& path) {
  // The node may be at or below a sibling node of a queue or of kazoo's semaphore.
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const auto part = std::string_view{path}.substr(0, end);
    for (const auto suffix :
         {client_impl::queue_sibling_suffix, client_impl::semaphore_sibling_suffix})
      if (auto recipe = client_impl::recipe_of_sibling(part, suffix)) return *std::move(recipe);
    if (end == std::string::npos) break;
  }
  const auto name = client_impl::last_name(path);
  const bool is_node_of_recipe = is_recipe_node(name) || client_impl::is_sequential(name);
  const auto parent = is_node_of_recipe ? client_impl::parent_path(path) : path;
  return client_impl::is_folder_of_recipe(client_impl::last_name(parent))
             ? client_impl::parent_path(parent)
             : parent;
}

bool is_items_folder(std::string_view name) {
  static const auto items = client_impl::names_of_queue({}, queue_layout::kazoo_locking).items();
  return name == client_impl::last_name(items);
}

std::optional<std::size_t> recorded_permits(const get_result& semaphore) {
  return recipes::parse_parent_record(semaphore.data, semaphore.stat).permits;
}

std::optional<queue_layout> find_queue_layout(client& c, const std::string& path) {
  const auto& core = client_impl::core_access::of(c);
  const auto children = client_impl::children_of(core, path);
  const auto folder = client_impl::names_of_queue(path, queue_layout::kazoo_locking).items();
  if (std::find(children.begin(), children.end(), client_impl::last_name(folder)) == children.end())
    return recipes::layout_of_queue(children, nullptr);
  const auto entries = client_impl::children_of(core, folder);
  return recipes::layout_of_queue(children, &entries);
}

std::vector<contender_info> queue_claims(client& c, const std::string& path, queue_layout names) {
  if (path == "/") return {};  // the root has no sibling node, so its items cannot be claimed
  const auto folder = client_impl::names_of_queue(path, names).claims();
  std::vector<std::string> paths;
  for (const auto& name : client_impl::children_of(client_impl::core_access::of(c), folder))
    paths.push_back(client_impl::child_path(folder, name));
  const auto replies = get_all(c, paths);
  std::vector<contender_info> all;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (replies[i].ec == errc::no_node) continue;  // completed or released since the listing
    auto& info = all.emplace_back();
    info.node = std::move(paths[i]);
    info.holds = true;
    info.readable = !replies[i].ec;
    if (!info.readable) continue;
    client_impl::set_node_info(info, replies[i].value);
    info.granted = grant_time{info.since, info.since};
  }
  return all;
}

}  // namespace conclave
