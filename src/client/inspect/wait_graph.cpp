#include "conclave/wait_graph.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "client/inspect/names.hpp"
#include "client/inspect/read_many.hpp"
#include "client/inspect/stuck_waits.hpp"

namespace conclave {
namespace {

using client_impl::stuck_waits;
using kind = recipe_info::kind;

// Finds the groups of stuck waits in which all waits depend on each other, and on no other wait:
// the strongly connected components that no edge leaves. Every stuck wait leads to such a group.
class cycle_finder {
 public:
  explicit cycle_finder(const stuck_waits& stuck) : stuck_{stuck}, visits_(stuck.size()) {}

  using causes_by_wait = std::map<std::size_t, std::vector<stuck_waits::cause>>;

  std::vector<causes_by_wait> find() {
    for (std::size_t i = 0; i < stuck_.size(); ++i)
      if (stuck_.is_stuck(i) && visits_[i].number == 0) visit(i);
    return std::move(cycles_);
  }

 private:
  // Tarjan's algorithm. It is not recursive, because chains of waits can be long.
  struct visit_state {
    std::size_t number = 0;  // in the order of the visits; 0 if not visited
    std::size_t lowest = 0;  // the lowest number of an unassigned wait that it is known to reach
    bool unassigned = false;
    std::vector<stuck_waits::cause> causes;
    std::size_t next_cause = 0;
  };

  void visit(std::size_t from) {
    std::vector<std::size_t> path;
    enter(from, path);
    while (!path.empty()) {
      const auto w = path.back();
      auto& v = visits_[w];
      if (v.next_cause < v.causes.size()) {
        const auto next = v.causes[v.next_cause++].wait;
        const auto& n = visits_[next];
        if (n.number == 0)
          enter(next, path);
        else if (n.unassigned)
          v.lowest = std::min(v.lowest, n.number);
        continue;
      }
      if (v.lowest == v.number) end_component(w);
      path.pop_back();
      if (!path.empty())
        visits_[path.back()].lowest = std::min(visits_[path.back()].lowest, v.lowest);
    }
  }

  void enter(std::size_t w, std::vector<std::size_t>& path) {
    auto& v = visits_[w];
    v.number = v.lowest = ++last_number_;
    v.unassigned = true;
    v.causes = stuck_.causes_of(w);
    path.push_back(w);
    unassigned_.push_back(w);
  }

  void end_component(std::size_t root) {
    causes_by_wait component;
    for (std::size_t w = root + 1; w != root;) {
      w = unassigned_.back();
      unassigned_.pop_back();
      visits_[w].unassigned = false;
      component.emplace(w, visits_[w].causes);
    }
    for (const auto& [w, causes] : component)
      for (const auto& c : causes)
        if (!component.contains(c.wait)) return;
    cycles_.push_back(std::move(component));
  }

  const stuck_waits& stuck_;
  std::vector<visit_state> visits_;
  std::vector<std::size_t> unassigned_;
  std::size_t last_number_ = 0;
  std::vector<causes_by_wait> cycles_;
};

deadlock::place describe(const wait_graph& g, wait_graph::place p) {
  return {g.recipe(p).path, g.recipe(p).what, g.contender(p)};
}

deadlock describe(const wait_graph& g, const stuck_waits& stuck,
                  const cycle_finder::causes_by_wait& cycle) {
  std::map<std::size_t, deadlock::member> members;
  std::map<std::size_t, std::set<std::size_t>> held;
  for (const auto& [w, causes] : cycle) {
    auto& m = members[w];
    m.waits_for = describe(g, stuck.place_of(w));
    const auto& info = m.waits_for.contender;
    m.has_time_limit = info.wait && info.wait->has_time_limit;
    m.certain = true;
  }
  for (const auto& [w, causes] : cycle)
    for (const auto& c : causes) {
      auto& m = members[c.wait];
      if (!c.certain) m.certain = false;
      if (c.blocker != c.wait && held[c.wait].insert(c.blocker).second)
        m.holds.push_back(describe(g, stuck.place_of(c.blocker)));
    }
  // Each member is followed by the member that it waits for.
  deadlock d;
  for (const auto& [first, causes_of_first] : cycle) {
    for (auto w = first; members.contains(w); w = cycle.at(w).front().wait) {
      d.members.push_back(std::move(members[w]));
      members.erase(w);
    }
  }
  return d;
}

std::vector<std::pair<std::string, std::int64_t>> nodes_of(const deadlock& d) {
  std::set<std::pair<std::string, std::int64_t>> nodes;
  for (const auto& m : d.members) {
    nodes.emplace(m.waits_for.contender.node, m.waits_for.contender.fencing_token);
    for (const auto& h : m.holds) nodes.emplace(h.contender.node, h.contender.fencing_token);
  }
  return {nodes.begin(), nodes.end()};
}

std::string lock_text(const deadlock::place& p) {
  if (p.what == kind::semaphore) return "a permit of " + p.path;
  if (p.contender.role == layout::role::reader) return p.path + " as a reader";
  return p.path;
}

}  // namespace

struct wait_graph::state {
  explicit state(inspection s) : seen{std::move(s)} {}
  const inspection seen;
  const stuck_waits certain{seen, stuck_waits::level::certain};
  const stuck_waits possible{seen, stuck_waits::level::possible};
};

wait_graph::wait_graph(inspection seen) : state_{std::make_shared<const state>(std::move(seen))} {}

const inspection& wait_graph::seen() const noexcept { return state_->seen; }

wait_graph::blockers wait_graph::blockers_of(place waiter) const {
  blockers b;
  const auto& r = recipe(waiter);
  const auto& w = contender(waiter);
  if (w.holds || !client_impl::is_in_wait_graph(r)) return b;
  const bool is_semaphore = r.what == kind::semaphore;
  for (std::size_t c = 0; c < waiter.contender; ++c) {
    const auto& ahead = r.contenders[c];
    if (is_semaphore && ahead.holds)
      b.any.push_back({waiter.recipe, c});
    else if (is_semaphore || client_impl::conflict(ahead, w))
      b.all.push_back({waiter.recipe, c});
  }
  const auto permits = r.permits ? static_cast<std::size_t>(std::max(*r.permits, 1)) : b.any.size();
  if (b.any.size() >= permits && permits > 0)
    b.any_of_these = b.any.size() - permits + 1;
  else
    b.any.clear();  // a permit is free
  return b;
}

std::vector<wait_graph::link> wait_graph::waits_of(place holder) const {
  return state_->possible.links_of(state_->possible.index_of(holder));
}

std::vector<deadlock> wait_graph::deadlocks() const {
  std::vector<deadlock> all;
  for (const auto& cycle : cycle_finder{state_->certain}.find())
    all.emplace_back(describe(*this, state_->certain, cycle)).certain = true;
  for (const auto& cycle : cycle_finder{state_->possible}.find()) {
    const bool is_certain = std::all_of(cycle.begin(), cycle.end(), [&](const auto& each) {
      return state_->certain.is_stuck(each.first);
    });
    if (!is_certain) all.push_back(describe(*this, state_->possible, cycle));
  }
  return all;
}

bool deadlock::same_nodes(const deadlock& other) const {
  return nodes_of(*this) == nodes_of(other);
}

std::string contender_name(const contender_info& c) {
  if (!c.owner.empty()) return c.owner;
  return std::string{client_impl::last_name(c.node)};
}

std::string explain(const deadlock& d) {
  std::string text;
  for (const auto& m : d.members) {
    if (!text.empty()) text += "; ";
    text += contender_name(m.waits_for.contender);
    const char* separator = " ";
    for (const auto& h : m.holds) {
      const bool holds = h.contender.holds;
      text += separator + std::string{holds ? "holds " : "is ahead in the wait queue of "};
      text += holds ? lock_text(h) : h.path;
      separator = " and ";
    }
    text += separator + ("waits for " + lock_text(m.waits_for));
    if (m.has_time_limit) text += " for a limited time";
  }
  return text;
}

bool confirm(client& c, const deadlock& d) {
  const auto nodes = nodes_of(d);
  std::vector<std::string> paths;
  paths.reserve(nodes.size());
  for (const auto& [path, czxid] : nodes) paths.push_back(path);
  const auto replies = client_impl::get_all(c, paths);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (replies[i].ec || replies[i].value.stat.czxid != nodes[i].second) return false;
  return true;
}

std::vector<deadlock> find_deadlocks(client& c, const std::vector<std::string>& paths,
                                     const inspect_options& options) {
  auto all = wait_graph{inspect(c, paths, options)}.deadlocks();
  std::erase_if(all, [&](const deadlock& d) { return !confirm(c, d); });
  return all;
}

}  // namespace conclave
