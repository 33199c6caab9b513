// Builds an inspection as inspect() would return it.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "conclave/wait_graph.hpp"

namespace conclave::testing {

// Returns an id as it is in the data of a node. Equal numbers have equal ids.
inline std::string id_of(int number) {
  char text[33];
  std::snprintf(text, sizeof text, "%032x", static_cast<unsigned>(number));
  return text;
}

class inspected_locks {
 public:
  using role = layout::role;
  using kind = recipe_info::kind;

  // A contender of this library. Contenders with the same id are nodes of one acquisition.
  struct contender {
    std::string owner;
    std::int64_t session = 0;
    int id = 0;  // 0: a contender of another library
    std::vector<int> holds{}, may_hold{};
    bool open = false, limited = false;
    layout::role role = layout::role::exclusive;
  };

  // Adds a contender to the wait queue of a lock. The first ones hold the lock.
  void add(const std::string& path, const contender& c) {
    auto& r = recipe(path, kind::lock);
    if (c.role != role::exclusive) r.what = kind::read_write_lock;
    const bool reads = c.role == role::reader;
    const bool holds =
        r.contenders.empty() ||
        (reads && std::all_of(r.contenders.begin(), r.contenders.end(),
                              [](const auto& each) { return each.role == role::reader; }));
    r.contenders.push_back(info(path, c, holds, {}));
  }
  void add_permit(const std::string& path, int permits, const contender& c, bool holds) {
    auto& r = recipe(path, kind::semaphore);
    r.permits = permits;
    r.contenders.push_back(info(path, c, holds, static_cast<std::size_t>(permits)));
  }
  recipe_info& recipe(const std::string& path, kind what) {
    auto& all = seen_.recipes;
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& r) { return r.path == path; });
    if (found != all.end()) return *found;
    auto& r = all.emplace_back();
    r.path = path;
    r.what = what;
    return r;
  }
  const inspection& seen() const { return seen_; }
  std::vector<deadlock> deadlocks() const { return wait_graph{seen_}.deadlocks(); }

 private:
  contender_info info(const std::string& path, const contender& c, bool holds,
                      std::optional<std::size_t> permits) {
    contender_info i;
    i.node = path + "/lock-" + std::to_string(++last_node_);
    i.role = c.role;
    i.holds = holds;
    i.owner = c.owner;
    i.session_id = c.session;
    i.fencing_token = c.id != 0 ? c.id : 1'000'000 + last_node_;
    if (c.id == 0) return i;
    i.id = id_of(c.id);
    auto& w = i.wait.emplace();
    for (const auto n : c.holds) w.task.certain.push_back(id_of(n));
    for (const auto n : c.may_hold) w.task.possible.push_back(id_of(n));
    w.task.may_hold_others = c.open;
    w.has_time_limit = c.limited;
    w.permits = permits;
    return i;
  }

  inspection seen_;
  int last_node_ = 0;
};

}  // namespace conclave::testing
