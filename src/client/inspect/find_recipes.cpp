#include "client/inspect/find_recipes.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "recipes/semaphore_names.hpp"

namespace conclave::client_impl {
namespace {

using kind = recipe_info::kind;
using presence = listed_contender::presence;

const char* name_of(queue_layout l) {
  switch (l) {
    case queue_layout::zookeeper: return "zookeeper";
    case queue_layout::kazoo: return "kazoo";
    case queue_layout::kazoo_locking: return "kazoo_locking";
  }
  return "";
}

class finder {
 public:
  finder(const node_tree& tree, const known_layouts& layouts) : tree_{tree}, layouts_{layouts} {}

  std::vector<found_recipe> find(bool include_unused) {
    for (const auto& [path, node] : tree_.nodes)
      if (const auto queue = recipe_of_sibling(path, queue_sibling_suffix)) find_queue(*queue);
    for (const auto& [path, node] : tree_.nodes)
      if (const auto semaphore = recipe_of_sibling(path, semaphore_sibling_suffix))
        find_kazoo_semaphore(*semaphore);
    for (const auto& [path, node] : tree_.nodes)
      if (!consumed_.contains(path))
        find_at(path, node, include_unused);
      else if (queues_.contains(path))  // a lock may use the same path
        find_wait_queues(path, node);
    for (auto& [place, f] : others_) found_.push_back(std::move(f));
    return std::move(found_);
  }

 private:
  bool has(const children_result& node, std::string_view name) const {
    return std::binary_search(node.names.begin(), node.names.end(), name, std::less<>{});
  }

  const std::vector<std::string>& names_below(const std::string& path) {
    static const std::vector<std::string> none;
    consumed_.insert(path);
    const auto* const node = tree_.find(path);
    return node == nullptr ? none : node->names;
  }

  static listed_contender make(const std::string& parent, const std::string& name,
                               layout::contender c = {layout::role::exclusive, 0}) {
    listed_contender e;
    e.info.node = child_path(parent, name);
    e.info.role = c.role;
    e.number = c.number;
    return e;
  }

  void find_at(const std::string& path, const children_result& node, bool include_unused) {
    const auto before = found_.size();
    if (is_semaphore(path, node))
      find_semaphore(path);
    else if (is_locking_queue(path, node) ||
             std::any_of(node.names.begin(), node.names.end(), is_queue_item))
      find_queue(path);
    find_wait_queues(path, node);
    if (found_.size() != before) return;
    if (node.stat.ephemeral_owner != 0) {
      find_other(path);
    } else if (include_unused && node.names.empty() && node.stat.cversion > 0) {
      found_recipe f;
      f.info.path = path;
      f.info.what = kind::unused;
      f.needs_path_data = true;
      found_.push_back(std::move(f));
    }
  }

  // This is an ephemeral node with an unknown name. If it has a sequence number, it may be a
  // contender of a custom layout. Otherwise it may be a named mutex.
  void find_other(const std::string& path) {
    constexpr std::size_t digits = 10;
    const auto name = last_name(path);
    const auto begin = std::string{name.substr(0, name.size() - std::min(name.size(), digits))};
    // No layout of a program has a * there, and layout::custom() would give the * a meaning.
    const bool is_prefix = !begin.empty() && begin.find('*') == std::string::npos;
    const auto parsed = is_prefix ? layout::custom(begin).parse(name) : std::nullopt;
    listed_contender e;
    e.info.node = path;
    e.state = presence::present_if_conclave_node;
    if (parsed) e.number = parsed->number;
    const auto place = parsed ? parent_path(path) : path;
    auto& f = others_[{place, parsed ? begin : "named"}];
    f.info.path = place;
    f.info.layout = parsed ? begin : "named";
    f.kind_is_certain = false;
    f.wait_queue.push_back(std::move(e));
  }

  // Contenders of different layouts do not exclude each other, so each layout counts as a separate
  // lock.
  void find_wait_queues(const std::string& path, const children_result& node) {
    std::map<const named_layout*, found_recipe> by_layout;
    for (const auto& name : node.names) {
      const auto c = layouts_.parse(name);
      if (!c) continue;
      auto& f = by_layout[c->of];
      f.info.path = path;
      f.info.layout = c->of->name;
      if (c->of->election) f.info.what = kind::election;
      if (c->parsed.role != layout::role::exclusive) f.info.what = kind::read_write_lock;
      f.wait_queue.push_back(make(path, name, c->parsed));
    }
    for (auto& [l, f] : by_layout) {
      // kazoo uses the same names for writers and for exclusive contenders. With readers on the
      // path, they are writers.
      if (f.info.what == kind::read_write_lock)
        for (auto& e : f.wait_queue)
          if (e.info.role == layout::role::exclusive) e.info.role = layout::role::writer;
      found_.push_back(std::move(f));
    }
  }

  std::vector<listed_contender> wait_queue_at(const std::string& path) {
    std::vector<listed_contender> all;
    for (const auto& name : names_below(path))
      if (const auto c = layouts_.parse(name)) all.push_back(make(path, name, c->parsed));
    return all;
  }

  // Other programs may use folders with these names for other purposes.
  bool holds_only(const std::string& path, const std::function<bool(const std::string&)>& what) {
    const auto* const node = tree_.find(path);
    return node == nullptr || std::all_of(node->names.begin(), node->names.end(), what);
  }
  bool is_semaphore(const std::string& path, const children_result& node) {
    return has(node, recipes::locks_folder) && has(node, recipes::leases_folder) &&
           holds_only(child_path(path, recipes::locks_folder),
                      [&](const auto& name) { return layouts_.parse(name).has_value(); }) &&
           holds_only(child_path(path, recipes::leases_folder),
                      [](const auto& name) { return recipes::parse_lease(name).has_value(); });
  }
  bool is_locking_queue(const std::string& path, const children_result& node) {
    const auto names = names_of_queue(path, queue_layout::kazoo_locking);
    return has(node, last_name(names.items())) && has(node, last_name(names.claims())) &&
           holds_only(names.items(), is_queue_item) && holds_only(names.claims(), is_queue_item);
  }

  void find_semaphore(const std::string& path) {
    found_recipe f;
    f.info.path = path;
    f.info.what = kind::semaphore;
    f.info.layout = "curator";
    f.needs_path_data = true;
    f.wait_queue = wait_queue_at(child_path(path, recipes::locks_folder));
    const auto folder = child_path(path, recipes::leases_folder);
    for (const auto& name : names_below(folder)) {
      f.holders.push_back(make(folder, name, *recipes::parse_lease(name)));
      consumed_.insert(child_path(folder, name));
    }
    found_.push_back(std::move(f));
  }

  void find_kazoo_semaphore(const std::string& path) {
    found_recipe f;
    f.info.path = path;
    f.info.what = kind::semaphore;
    f.info.layout = "kazoo";
    f.needs_path_data = true;
    f.wait_queue = wait_queue_at(path + std::string{semaphore_sibling_suffix});
    for (const auto& name : names_below(path)) {
      const auto child = child_path(path, name);
      const auto* const below = tree_.find(child);
      if (below == nullptr || below->stat.ephemeral_owner == 0) continue;
      consumed_.insert(child);
      f.holders.push_back(make(path, name));
    }
    found_.push_back(std::move(f));
  }

  queue_layout layout_of_queue(const std::string& path) {
    const auto* const node = tree_.find(path);
    if (node == nullptr) return queue_layout::zookeeper;
    if (is_locking_queue(path, *node)) return queue_layout::kazoo_locking;
    const auto kazoo = names_of_queue(path, queue_layout::kazoo);
    const bool is_kazoo = std::any_of(node->names.begin(), node->names.end(),
                                      [&](const auto& n) { return kazoo.parse(n).has_value(); });
    return is_kazoo ? queue_layout::kazoo : queue_layout::zookeeper;
  }

  void find_queue(const std::string& path) {
    const auto l = layout_of_queue(path);
    const auto names = names_of_queue(path, l);
    found_recipe f;
    f.info.path = path;
    f.info.what = kind::queue;
    f.info.layout = name_of(l);
    const auto& items = names_below(names.items().empty() ? path : names.items());
    f.info.queue.items = static_cast<std::size_t>(
        std::count_if(items.begin(), items.end(), [](const auto& n) { return is_queue_item(n); }));
    for (const auto& name : names_below(names.claims()))
      f.holders.push_back(make(names.claims(), name));
    f.info.queue.claimed = f.holders.size();
    f.info.queue.producers = names_below(names.producers()).size();
    f.info.queue.consumers = names_below(names.consumers()).size();
    f.info.queue.waiting = names_below(names.waiting_consumers()).size();
    f.info.queue.set_aside = names_below(names.set_aside()).size();
    consumed_.insert(names.waiting_producers());
    consumed_.insert(path + std::string{queue_sibling_suffix});
    consumed_.insert(path);
    queues_.insert(path);
    found_.push_back(std::move(f));
  }

  const node_tree& tree_;
  const known_layouts& layouts_;
  std::set<std::string> consumed_;  // nodes that belong to a recipe already found
  std::set<std::string> queues_;
  std::vector<found_recipe> found_;
  std::map<std::pair<std::string, std::string>, found_recipe> others_;  // by path and layout
};

// The next waiter of a semaphore has already created its lease and waits until enough other leases
// are gone. So this lease does not belong to a holder.
void remove_next_waiter(std::vector<listed_contender>& leases,
                        const std::vector<listed_contender>& waiting) {
  if (leases.size() < 2 || waiting.empty() || waiting.front().info.session_id == 0) return;
  if (leases.back().info.session_id == waiting.front().info.session_id) leases.pop_back();
}

}  // namespace

std::vector<found_recipe> find_recipes(const node_tree& tree, const known_layouts& layouts,
                                       bool include_unused) {
  return finder{tree, layouts}.find(include_unused);
}

recipe_info to_recipe_info(found_recipe f) {
  for (auto* const contenders : {&f.holders, &f.wait_queue}) {
    std::erase_if(*contenders, [](const auto& e) { return e.state == presence::absent; });
    sort_wait_queue(*contenders);
  }
  auto& r = f.info;
  if (r.what != kind::semaphore) mark_holders(f.wait_queue);
  if (r.what == kind::semaphore && r.layout != "kazoo") remove_next_waiter(f.holders, f.wait_queue);
  for (auto& e : f.holders) {
    e.info.holds = true;
    r.contenders.push_back(std::move(e.info));
  }
  for (auto& e : f.wait_queue) r.contenders.push_back(std::move(e.info));
  return std::move(r);
}

}  // namespace conclave::client_impl
