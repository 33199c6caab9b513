#include "cli/inventory/inventory.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <tuple>

#include "cli/inventory/found_recipe.hpp"
#include "cli/inventory/names.hpp"
#include "cli/inventory/request_all.hpp"
#include "cli/run/requested_lock.hpp"

namespace conclave::cli {
namespace {

using kind = recipe::kind;

// Separates the owner from the id in the data of our contenders.
constexpr std::string_view id_mark = "\nid ";

// Sorts by sequence number, or by creation if the counter may have wrapped around.
void sort_by_arrival(std::vector<unread_participant>& contenders) {
  constexpr auto near_the_end = std::numeric_limits<std::int32_t>::max() - 0xffff;
  constexpr std::int64_t far_apart = std::int64_t{1} << 30;
  std::int64_t lowest = near_the_end, highest = 0;
  for (const auto& e : contenders) {
    lowest = std::min<std::int64_t>(lowest, e.number);
    highest = std::max<std::int64_t>(highest, e.number);
  }
  const bool by_age = lowest < 0 || highest >= near_the_end || highest - lowest >= far_apart;
  std::sort(contenders.begin(), contenders.end(),
            [&](const unread_participant& a, const unread_participant& b) {
              const auto number = [&](const unread_participant& e) {
                return by_age ? 0 : e.number;
              };
              return std::make_tuple(number(a), a.who.fencing_token, std::cref(a.who.node)) <
                     std::make_tuple(number(b), b.who.fencing_token, std::cref(b.who.node));
            });
}

void mark_holders(std::vector<unread_participant>& contenders) {
  bool only_readers = true;  // only readers are ahead of this contender
  for (auto& e : contenders) {
    const bool reads = e.who.role == layout::role::reader;
    e.who.holds = &e == contenders.data() || (reads && only_readers);
    only_readers = only_readers && reads;
  }
}

// The next semaphore waiter has created its lease already and waits until there are few enough
// leases. So it is not a holder.
void remove_pending_lease(std::vector<unread_participant>& leases,
                          const std::vector<unread_participant>& waiting) {
  if (leases.size() < 2 || waiting.empty() || waiting.front().who.session_id == 0) return;
  if (leases.back().who.session_id == waiting.front().who.session_id) leases.pop_back();
}

void set_details(participant& p, const get_result& node) {
  const auto role = p.role;
  static_cast<contender_info&>(p) = describe_contender(std::move(p.node), node);
  p.role = role;
  p.readable = true;
}

bool is_from_this_library(const get_result& node) {
  return describe_contender({}, node).asked_to_release ||
         node.data.find(id_mark) != std::string::npos;
}

void read_participants(client& zk, std::vector<found_recipe>& all, inventory& s) {
  std::vector<unread_participant*> targets;
  std::vector<std::string> paths;
  for (auto& f : all)
    for (auto* const contenders : {&f.holders, &f.wait_queue})
      for (auto& e : *contenders) {
        targets.push_back(&e);
        paths.push_back(e.who.node);
      }
  const auto answers = get_all(zk, paths);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    auto* const e = targets[i];
    const auto& a = answers[i];
    const bool ours = !a.ec && is_from_this_library(a.value);
    // A node that may not be read still counts.
    e->exists = e->only_from_this_library ? ours : a.ec != errc::no_node;
    if (a.ec && e->exists) s.unreadable.emplace_back(paths[i], a.ec);
    if (!a.ec) set_details(e->who, a.value);
  }
}

void read_data(client& zk, std::vector<found_recipe>& all) {
  std::vector<recipe*> which;
  std::vector<std::string> paths;
  for (auto& f : all) {
    if (!f.needs_data) continue;
    which.push_back(&f.r);
    paths.push_back(f.r.path);
  }
  const auto answers = get_all(zk, paths);
  for (std::size_t i = 0; i < which.size(); ++i) {
    const auto& data = answers[i].value.data;
    if (which[i]->what == kind::unused) {
      if (data.starts_with(lock_record)) which[i]->what = kind::lock;
      continue;
    }
    if (const auto recorded = recorded_permits(data))
      which[i]->permits = static_cast<int>(*recorded);
    int n = 0;
    const auto* const end = data.data() + data.size();
    if (const auto [stop, ec] = std::from_chars(data.data(), end, n);
        ec == std::errc{} && stop == end)
      which[i]->permits = n;
  }
}

recipe finish(found_recipe f) {
  for (auto* const contenders : {&f.holders, &f.wait_queue}) {
    std::erase_if(*contenders, [](const unread_participant& e) { return !e.exists; });
    sort_by_arrival(*contenders);
  }
  auto& r = f.r;
  if (r.what != kind::semaphore) mark_holders(f.wait_queue);
  if (r.what == kind::semaphore && r.layout != "kazoo")
    remove_pending_lease(f.holders, f.wait_queue);
  for (auto& e : f.holders) {
    e.who.holds = true;
    r.participants.push_back(std::move(e.who));
  }
  for (auto& e : f.wait_queue) r.participants.push_back(std::move(e.who));
  return std::move(r);
}

// Whether the node of a holder is created by the grant itself.
bool granted_at_creation(const recipe& r) {
  return r.what == kind::queue || (r.what == kind::semaphore && r.layout == "kazoo") ||
         r.layout == "named";
}

void date_grants(client& zk, std::vector<recipe>& all) {
  std::vector<recipe*> which;
  std::vector<std::string> paths;
  for (auto& r : all) {
    if (r.participants.empty() || !r.participants.front().holds) continue;
    if (granted_at_creation(r)) {
      for (auto& who : r.participants)
        if (who.holds) who.granted = grant_time{who.since, who.since};
      continue;
    }
    which.push_back(&r);
    paths.push_back(parent_path(r.participants.front().node));
  }
  const auto answers = get_all(zk, paths);
  for (std::size_t i = 0; i < which.size(); ++i) {
    std::vector<contender_info*> in_folder;
    for (auto& who : which[i]->participants)
      if (who.readable && parent_path(who.node) == paths[i]) in_folder.push_back(&who);
    estimate_grants(answers[i].value, in_folder);
  }
}

}  // namespace

inventory take_inventory(client& zk, const std::vector<std::string>& roots,
                         const known_names& names, bool include_unused) {
  inventory s;
  auto tree = read_tree(zk, with_siblings(roots), names);
  s.unreadable = std::move(tree.unreadable);
  auto found = find_recipes(tree, names, include_unused);
  read_participants(zk, found, s);
  read_data(zk, found);
  for (auto& f : found) {
    const bool other = !f.wait_queue.empty() && f.wait_queue.front().only_from_this_library;
    auto r = finish(std::move(f));
    if (r.in_use() || (include_unused && !other)) s.recipes.push_back(std::move(r));
  }
  std::sort(s.recipes.begin(), s.recipes.end(), [](const recipe& a, const recipe& b) {
    return std::tie(a.path, a.layout) < std::tie(b.path, b.layout);
  });
  date_grants(zk, s.recipes);
  return s;
}

const char* to_string(recipe::kind k) noexcept {
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

}  // namespace conclave::cli
