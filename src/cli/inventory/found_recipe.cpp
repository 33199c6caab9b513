#include "cli/inventory/found_recipe.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace conclave::cli {
namespace {

using kind = recipe::kind;

class recipe_finder {
 public:
  recipe_finder(const node_tree& tree, const known_names& names) : tree_{tree}, names_{names} {}

  std::vector<found_recipe> find(bool include_unused) {
    for (const auto& [path, node] : tree_.nodes)
      if (const auto queue = sibling_owner(path, queue_sibling_suffix)) find_queue(*queue);
    for (const auto& [path, node] : tree_.nodes)
      if (const auto semaphore = sibling_owner(path, semaphore_sibling_suffix))
        find_kazoo_semaphore(*semaphore);
    for (const auto& [path, node] : tree_.nodes)
      if (!assigned_.contains(path)) find_at(path, node, include_unused);
    for (auto& [place, f] : others_) found_.push_back(std::move(f));
    return std::move(found_);
  }

 private:
  bool has(const children_result& node, std::string_view name) const {
    return std::binary_search(node.names.begin(), node.names.end(), name, std::less<>{});
  }

  const std::vector<std::string>& names_below(const std::string& path) {
    static const std::vector<std::string> none;
    assigned_.insert(path);
    const auto* const node = tree_.find(path);
    return node == nullptr ? none : node->names;
  }

  static unread_participant make(const std::string& parent, const std::string& name,
                                 layout::contender c = {layout::role::exclusive, 0}) {
    unread_participant e;
    e.who.node = child_path(parent, name);
    e.who.role = c.role;
    e.number = c.number;
    return e;
  }

  static found_recipe make_recipe(const std::string& path, kind what, std::string layout) {
    found_recipe f;
    f.r.path = path;
    f.r.what = what;
    f.r.layout = std::move(layout);
    return f;
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
      found_.push_back(make_recipe(path, kind::unused, {}));
      found_.back().needs_data = true;
    }
  }

  // An ephemeral node with an unknown name. With a sequence number, it may be a contender of a
  // custom layout. Without one, it may be a named mutex.
  void find_other(const std::string& path) {
    constexpr std::size_t digits = 10;
    const auto name = last_name(path);
    const auto begin = std::string{name.substr(0, name.size() - std::min(name.size(), digits))};
    const auto parsed = begin.empty() ? std::nullopt : layout::custom(begin).parse(name);
    unread_participant e;
    e.who.node = path;
    e.only_from_this_library = true;
    if (parsed) e.number = parsed->number;
    const auto place = parsed ? parent_path(path) : path;
    auto& f = others_[{place, parsed ? begin : "named"}];
    f.r.path = place;
    f.r.layout = parsed ? begin : "named";
    f.wait_queue.push_back(std::move(e));
  }

  // Contenders of different layouts do not exclude each other, so each layout counts as a lock of
  // its own.
  void find_wait_queues(const std::string& path, const children_result& node) {
    std::map<const named_layout*, found_recipe> by_layout;
    for (const auto& name : node.names) {
      const auto c = names_.parse(name);
      if (!c) continue;
      auto& f = by_layout[c->of];
      f.r.path = path;
      f.r.layout = c->of->name;
      if (c->of->election) f.r.what = kind::election;
      if (c->parsed.role != layout::role::exclusive) f.r.what = kind::read_write_lock;
      f.wait_queue.push_back(make(path, name, c->parsed));
    }
    for (auto& [l, f] : by_layout) {
      // kazoo uses the same names for writers and for exclusive contenders. With readers on the
      // path, they are writers.
      if (f.r.what == kind::read_write_lock)
        for (auto& e : f.wait_queue)
          if (e.who.role == layout::role::exclusive) e.who.role = layout::role::writer;
      found_.push_back(std::move(f));
    }
  }

  std::vector<unread_participant> contenders_at(const std::string& path) {
    std::vector<unread_participant> contenders;
    for (const auto& name : names_below(path))
      if (const auto c = names_.parse(name)) contenders.push_back(make(path, name, c->parsed));
    return contenders;
  }

  static std::optional<layout::contender> parse_lease(const std::string& name) {
    static const auto ours = layout::custom("lease-"), curators = layout::custom("_c_*-lease-");
    const auto parsed = ours.parse(name);
    return parsed ? parsed : curators.parse(name);
  }

  // Other programs may use folders of these names for other purposes.
  bool has_only(const std::string& path, const std::function<bool(const std::string&)>& what) {
    const auto* const node = tree_.find(path);
    return node == nullptr || std::all_of(node->names.begin(), node->names.end(), what);
  }
  bool is_semaphore(const std::string& path, const children_result& node) {
    return has(node, "locks") && has(node, "leases") &&
           has_only(child_path(path, "locks"),
                    [&](const auto& name) { return names_.parse(name).has_value(); }) &&
           has_only(child_path(path, "leases"),
                    [](const auto& name) { return parse_lease(name).has_value(); });
  }
  bool is_locking_queue(const std::string& path, const children_result& node) {
    return has(node, "entries") && has(node, "taken") &&
           has_only(child_path(path, "entries"), is_queue_item) &&
           has_only(child_path(path, "taken"), is_queue_item);
  }

  void find_semaphore(const std::string& path) {
    auto f = make_recipe(path, kind::semaphore, "curator");
    f.needs_data = true;
    f.wait_queue = contenders_at(child_path(path, "locks"));
    const auto folder = child_path(path, "leases");
    for (const auto& name : names_below(folder)) {
      f.holders.push_back(make(folder, name, *parse_lease(name)));
      assigned_.insert(child_path(folder, name));
    }
    found_.push_back(std::move(f));
  }

  void find_kazoo_semaphore(const std::string& path) {
    auto f = make_recipe(path, kind::semaphore, "kazoo");
    f.needs_data = true;
    f.wait_queue = contenders_at(path + std::string{semaphore_sibling_suffix});
    for (const auto& name : names_below(path)) {
      const auto child = child_path(path, name);
      const auto* const below = tree_.find(child);
      if (below == nullptr || below->stat.ephemeral_owner == 0) continue;
      assigned_.insert(child);
      f.holders.push_back(make(path, name));
    }
    found_.push_back(std::move(f));
  }

  void find_queue(const std::string& path) {
    const auto sibling = path + std::string{queue_sibling_suffix};
    const auto* const node = tree_.find(path);
    const bool locking = node != nullptr && is_locking_queue(path, *node);
    const auto items = locking ? child_path(path, "entries") : path;
    const auto taken = child_path(locking ? path : sibling, "taken");
    auto f = make_recipe(path, kind::queue, locking ? "kazoo_locking" : "zookeeper");
    for (const auto& name : names_below(items)) {
      if (!is_queue_item(name)) continue;
      ++f.r.length;
      if (!locking && name.starts_with("entry-")) f.r.layout = "kazoo";
    }
    for (const auto& name : names_below(taken)) {
      f.holders.push_back(make(taken, name));
      ++f.r.claimed;
    }
    f.r.producers = names_below(child_path(sibling, "producers")).size();
    f.r.consumers = names_below(child_path(sibling, "consumers")).size();
    f.r.waiting = names_below(child_path(sibling, "waiting")).size();
    f.r.set_aside = names_below(child_path(sibling, "aside")).size();
    assigned_.insert(child_path(sibling, "room"));
    assigned_.insert(sibling);
    assigned_.insert(path);
    found_.push_back(std::move(f));
  }

  const node_tree& tree_;
  const known_names& names_;
  std::set<std::string> assigned_;  // nodes that belong to a recipe already found
  std::vector<found_recipe> found_;
  std::map<std::pair<std::string, std::string>, found_recipe> others_;  // by path and layout
};

}  // namespace

std::vector<found_recipe> find_recipes(const node_tree& tree, const known_names& names,
                                       bool include_unused) {
  return recipe_finder{tree, names}.find(include_unused);
}

}  // namespace conclave::cli
