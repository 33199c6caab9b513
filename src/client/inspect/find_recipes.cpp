#include "client/inspect/find_recipes.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "recipes/semaphore_names.hpp"
#include "recipes/sequence_number.hpp"

namespace conclave::client_impl {
namespace {

using kind = recipe_info::kind;
using presence = listed_contender::presence;
using rule = found_recipe::rule;

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
    else if (is_queue(path, node))
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
    std::optional<recipes::numbered_name> parsed;
    for (const auto& reading : recipes::split_sequence_number(last_name(path)))
      // No layout of a program has a * there, because the * has a meaning in layout::custom().
      if (reading && !reading->prefix.empty() && reading->prefix.find('*') == std::string::npos)
        parsed = reading;
    listed_contender e;
    e.info.node = path;
    e.state = presence::present_if_conclave_node;
    if (parsed) e.number = parsed->number;
    const auto place = parsed ? parent_path(path) : path;
    const std::string names{parsed ? parsed->prefix : "named"};
    auto& f = others_[{place, names}];
    f.info.path = place;
    f.info.layout = names;
    f.kind_is_certain = false;
    if (!parsed) f.granted_when = rule::node_created;
    (parsed ? f.wait_queue : f.holders).push_back(std::move(e));
  }

  // Contenders of different layouts do not exclude each other, so each layout counts as a separate
  // lock.
  void find_wait_queues(const std::string& path, const children_result& node) {
    std::map<const layout*, found_recipe> by_layout;
    for (const auto& name : node.names) {
      const auto c = layouts_.parse(name);
      if (!c) continue;
      auto& f = by_layout[c->of];
      f.info.path = path;
      f.info.layout = c->of->name();
      if (c->of->is_for_elections()) f.info.what = kind::election;
      if (c->parsed.role != layout::role::exclusive) f.info.what = kind::read_write_lock;
      f.wait_queue.push_back(make(path, name, c->parsed));
    }
    for (auto& [l, f] : by_layout) {
      // kazoo uses the same prefix for writers and for exclusive contenders. With readers on the
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
  // An empty folder `entries` alone is not enough evidence.
  bool is_queue(const std::string& path, const children_result& node) {
    const auto l = queue_layout_at(path, node);
    if (l != queue_layout::kazoo_locking) return l.has_value();
    const auto names = names_of_queue(path, queue_layout::kazoo_locking);
    const auto* const entries = tree_.find(names.items());
    return (entries != nullptr && !entries->names.empty()) ||
           (has(node, last_name(names.claims())) && holds_only(names.claims(), is_queue_item));
  }

  void find_semaphore(const std::string& path) {
    found_recipe f;
    f.info.path = path;
    f.info.what = kind::semaphore;
    f.info.layout = layout::curator().name();
    f.granted_when = rule::permits;
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
    f.info.layout = layout::kazoo().name();
    f.granted_when = rule::node_created;
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

  std::optional<queue_layout> queue_layout_at(const std::string& path,
                                              const children_result& node) {
    static const std::vector<std::string> unreadable;
    const auto folder = names_of_queue(path, queue_layout::kazoo_locking).items();
    if (!has(node, last_name(folder))) return recipes::layout_of_queue(node.names, nullptr);
    const auto* const entries = tree_.find(folder);
    return recipes::layout_of_queue(node.names, entries == nullptr ? &unreadable : &entries->names);
  }

  void find_queue(const std::string& path) {
    const auto* const node = tree_.find(path);
    const auto found = node == nullptr ? std::nullopt : queue_layout_at(path, *node);
    const auto l = found.value_or(queue_layout::zookeeper);  // a queue without items
    const auto names = names_of_queue(path, l);
    found_recipe f;
    f.info.path = path;
    f.info.what = kind::queue;
    f.info.layout = to_string(l);
    f.granted_when = rule::node_created;
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

}  // namespace

std::vector<found_recipe> find_recipes(const node_tree& tree, const known_layouts& layouts,
                                       bool include_unused) {
  return finder{tree, layouts}.find(include_unused);
}

void find_holders(found_recipe& f) {
  for (auto* const contenders : {&f.holders, &f.wait_queue}) {
    std::erase_if(*contenders, [](const auto& e) { return e.state == presence::absent; });
    sort_wait_queue(*contenders);
  }
  switch (f.granted_when) {
    case rule::first_in_wait_queue: mark_holders(f.wait_queue); break;
    case rule::permits:
      mark_permit_holders(f.holders, f.info.permits, f.wait_queue);
      // The first waiter is also in the wait queue.
      std::erase_if(f.holders, [](const auto& e) { return !e.info.holds; });
      break;
    case rule::node_created:
      for (auto& e : f.holders) e.info.holds = true;
      break;
  }
}

recipe_info to_recipe_info(found_recipe f) {
  for (auto* const contenders : {&f.holders, &f.wait_queue})
    for (auto& e : *contenders) f.info.contenders.push_back(std::move(e.info));
  return std::move(f.info);
}

}  // namespace conclave::client_impl
