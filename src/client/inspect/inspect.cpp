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

// The next waiter of a semaphore has already created its lease and waits until enough other leases
// are gone. So this lease does not belong to a holder.
void remove_next_waiter(std::vector<listed_contender>& leases,
                        const std::vector<listed_contender>& waiting) {
  if (leases.size() < 2 || waiting.empty() || waiting.front().info.session_id == 0) return;
  if (leases.back().info.session_id == waiting.front().info.session_id) leases.pop_back();
}

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
  std::vector<recipe_info*> which;
  std::vector<std::string> paths;
  for (auto& f : all) {
    if (!f.needs_path_data) continue;
    which.push_back(&f.info);
    paths.push_back(f.info.path);
  }
  const auto replies = get_all(c, paths);
  for (std::size_t i = 0; i < which.size(); ++i) {
    const auto& node = replies[i].value;
    if (which[i]->what == kind::unused) {
      if (recipes::is_parent_record(node.data)) which[i]->what = kind::lock;
      continue;
    }
    which[i]->permits = kazoo_permits(node.data);
    if (const auto recorded = recorded_permits(node))
      which[i]->permits = static_cast<int>(*recorded);
  }
}

recipe_info finish(found_recipe f) {
  for (auto* const contenders : {&f.holders, &f.wait_queue}) {
    std::erase_if(*contenders, [](const auto& e) { return e.state == presence::absent; });
    client_impl::sort_wait_queue(*contenders);
  }
  auto& r = f.info;
  if (r.what != kind::semaphore) client_impl::mark_holders(f.wait_queue);
  if (r.what == kind::semaphore && r.layout != "kazoo") remove_next_waiter(f.holders, f.wait_queue);
  for (auto& e : f.holders) {
    e.info.holds = true;
    r.contenders.push_back(std::move(e.info));
  }
  for (auto& e : f.wait_queue) r.contenders.push_back(std::move(e.info));
  return std::move(r);
}

// Returns true if a contender becomes a holder at the moment when its node is created.
bool granted_at_creation(const recipe_info& r) {
  return r.what == kind::queue || (r.what == kind::semaphore && r.layout == "kazoo") ||
         r.layout == "named";
}

void date_grants(client& c, std::vector<recipe_info>& all) {
  std::vector<recipe_info*> which;
  std::vector<std::string> paths;
  for (auto& r : all) {
    if (r.contenders.empty() || !r.contenders.front().holds) continue;
    if (granted_at_creation(r)) {
      for (auto& who : r.contenders)
        if (who.holds) who.granted = grant_time{who.since, who.since};
      continue;
    }
    which.push_back(&r);
    paths.push_back(parent_path(r.contenders.front().node));
  }
  const auto replies = get_all(c, paths);
  for (std::size_t i = 0; i < which.size(); ++i) {
    std::vector<contender_info*> there;
    for (auto& who : which[i]->contenders)
      if (who.readable && parent_path(who.node) == paths[i]) there.push_back(&who);
    client_impl::estimate_grants(replies[i].value, there);
  }
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
  for (auto& f : found) {
    const bool known = f.kind_is_certain;
    auto r = finish(std::move(f));
    if (r.in_use() || (options.include_unused && known)) result.recipes.push_back(std::move(r));
  }
  std::sort(result.recipes.begin(), result.recipes.end(),
            [](const recipe_info& a, const recipe_info& b) {
              return std::tie(a.path, a.layout) < std::tie(b.path, b.layout);
            });
  date_grants(c, result.recipes);
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

std::optional<std::size_t> recorded_permits(const get_result& semaphore) {
  return recipes::parse_parent_record(semaphore.data, semaphore.stat).permits;
}

std::optional<queue_layout> find_queue_layout(client& c, const std::string& path) {
  const auto& core = client_impl::core_access::of(c);
  const auto children = client_impl::children_of(core, path);
  const auto locking = client_impl::names_of_queue(path, queue_layout::kazoo_locking);
  if (std::find(children.begin(), children.end(), client_impl::last_name(locking.items())) !=
      children.end())
    return queue_layout::kazoo_locking;
  for (const auto l : {queue_layout::zookeeper, queue_layout::kazoo})
    if (!client_impl::names_of_queue(path, l).in_order(children).empty()) return l;
  return std::nullopt;
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
