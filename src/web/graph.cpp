#include "web/graph.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "web/json.hpp"
#include "web/paths.hpp"

namespace conclave::web {
namespace {

constexpr std::size_t max_locks = 40;
constexpr std::size_t max_holders = 6;
constexpr std::size_t max_waiters = 6;
constexpr std::size_t max_deadlocks = 20;

// A node that cannot be read has no session. It is drawn as a session of its own.
std::string session_of(const contender_info& c) {
  return c.session_id == 0 ? c.node : session_text(c.session_id);
}

json::object place_json(const deadlock::place& p) {
  return {{"path", p.path},
          {"node", p.contender.node},
          {"owner", contender_name(p.contender)},
          {"session", session_of(p.contender)}};
}

json::object deadlock_json(const deadlock& d) {
  json::array members;
  for (const auto& m : d.members) {
    json::array holds;
    for (const auto& p : m.holds) holds.push_back(place_json(p));
    members.push_back(json::object{{"waits_for", place_json(m.waits_for)},
                                   {"holds", std::move(holds)},
                                   {"certain", m.certain}});
  }
  return {{"certain", d.certain}, {"sentence", explain(d)}, {"members", std::move(members)}};
}

class graph_drawing {
 public:
  graph_drawing(const wait_graph& g, const std::vector<deadlock>& deadlocks) : graph_{g} {
    for (const auto& d : deadlocks) {
      const auto* const certainty = d.certain ? "certain" : "possible";
      ++(d.certain ? result_.deadlocks : result_.possible_deadlocks);
      if (deadlocks_.size() < max_deadlocks) deadlocks_.push_back(deadlock_json(d));
      for (const auto& m : d.members) {
        mark(m.waits_for, certainty);
        for (const auto& p : m.holds) {
          mark(p, certainty);
          // A command that runs another command holds and waits in two sessions.
          const auto holder = session_of(p.contender);
          const auto waiter = session_of(m.waits_for.contender);
          if (holder != waiter) links_.insert({holder, waiter, certainty});
        }
      }
    }
  }

  drawn_graph draw() && {
    const auto locks = choose();
    json::array lock_list;
    for (const auto* const r : locks) lock_list.push_back(draw_lock(*r, lock_list.size()));
    json::array links;
    for (const auto& [holder, waiter, certainty] : links_) {
      const auto from = index_.find(holder);
      const auto to = index_.find(waiter);
      if (from == index_.end() || to == index_.end()) continue;
      links.push_back(
          json::object{{"from", from->second}, {"to", to->second}, {"deadlock", certainty}});
    }
    json::object o{{"locks", std::move(lock_list)},      {"links", std::move(links)},
                   {"sessions", std::move(sessions_)},   {"edges", std::move(edges_)},
                   {"deadlocks", std::move(deadlocks_)}, {"hidden_locks", hidden_}};
    result_.json = to_text(o);
    return std::move(result_);
  }

 private:
  void mark(const deadlock::place& p, const std::string& certainty) {
    marked_.emplace(p.contender.node, certainty);
    auto& of_path = result_.deadlocked_paths[p.path];
    if (of_path != "certain") of_path = certainty;
  }

  // Returns the locks to draw. First those with deadlocks, then those whose holders also wait.
  std::vector<const recipe_info*> choose() {
    std::set<std::int64_t> waiting_sessions;
    for (const auto& r : graph_.seen().recipes)
      if (is_lock(r))
        for (const auto& c : r.contenders)
          if (!c.holds && c.session_id != 0) waiting_sessions.insert(c.session_id);
    using rank = std::tuple<int, std::size_t>;
    std::vector<std::pair<rank, const recipe_info*>> all;
    for (const auto& r : graph_.seen().recipes) {
      if (!is_lock(r)) continue;
      const auto holders = static_cast<std::size_t>(std::count_if(
          r.contenders.begin(), r.contenders.end(), [](const auto& c) { return c.holds; }));
      const auto waiters = r.contenders.size() - holders;
      const bool holder_waits = std::any_of(
          r.contenders.begin(), r.contenders.end(),
          [&](const auto& c) { return c.holds && waiting_sessions.contains(c.session_id); });
      const bool is_dead = result_.deadlocked_paths.contains(r.path);
      if (waiters == 0 && !holder_waits && !is_dead) continue;
      all.push_back({{is_dead ? 2 : holder_waits ? 1 : 0, waiters}, &r});
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    hidden_ = all.size() - std::min(all.size(), max_locks);
    std::vector<const recipe_info*> chosen;
    for (std::size_t i = 0; i < std::min(all.size(), max_locks); ++i)
      chosen.push_back(all[i].second);
    return chosen;
  }

  json::object draw_lock(const recipe_info& r, std::size_t index) {
    std::size_t holders = 0, waiters = 0, hidden_holders = 0, hidden_waiters = 0;
    for (const auto& c : r.contenders) {
      const auto mark = marked_.find(c.node);
      auto& n = c.holds ? holders : waiters;
      if (mark == marked_.end() && n >= (c.holds ? max_holders : max_waiters)) {
        ++(c.holds ? hidden_holders : hidden_waiters);
        continue;
      }
      ++n;
      // Several contenders of one session look like one.
      const auto certainty = mark == marked_.end() ? std::string{} : mark->second;
      if (!drawn_.insert({session_index(c), index, c.holds, certainty}).second) continue;
      json::object e{{"session", session_index(c)}, {"lock", index}, {"holds", c.holds}};
      if (!certainty.empty()) e["deadlock"] = certainty;
      edges_.push_back(std::move(e));
    }
    return {{"path", r.path},
            {"layout", r.layout},
            {"kind", to_string(r.what)},
            {"hidden_holders", hidden_holders},
            {"hidden_waiters", hidden_waiters}};
  }

  std::size_t session_index(const contender_info& c) {
    const auto [at, is_new] = index_.try_emplace(session_of(c), sessions_.size());
    if (is_new) sessions_.push_back(json::object{{"id", at->first}, {"name", contender_name(c)}});
    return at->second;
  }

  const wait_graph& graph_;
  drawn_graph result_;
  std::map<std::string, std::string> marked_;  // the certainty, by node
  std::map<std::string, std::size_t> index_;   // of a session
  std::set<std::tuple<std::size_t, std::size_t, bool, std::string>> drawn_;  // edges
  // The sessions in which one task holds and waits, and the certainty of the deadlock.
  std::set<std::tuple<std::string, std::string, std::string>> links_;
  json::array sessions_, edges_, deadlocks_;
  std::size_t hidden_ = 0;
};

}  // namespace

drawn_graph draw_graph(const wait_graph& g, const std::vector<deadlock>& deadlocks) {
  return graph_drawing{g, deadlocks}.draw();
}

}  // namespace conclave::web
