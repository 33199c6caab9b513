#include "cli/show/deadlock.hpp"

#include <algorithm>

#include "cli/exit_code.hpp"
#include "cli/show/contender.hpp"
#include "cli/show/node.hpp"
#include "cli/show/text.hpp"

namespace conclave::cli {
namespace {

json::object place_json(const deadlock::place& p) {
  json::object o{{"path", p.path}, {"kind", to_string(p.what)}, {"node", p.contender.node}};
  add_number(o, "czxid", p.contender.fencing_token);
  add_contender(o, p.contender);
  return o;
}

json::object deadlock_json(const deadlock& d) {
  json::array members;
  for (const auto& m : d.members) {
    const auto& owner = m.waits_for.contender.owner;
    json::array holds, ahead;
    for (const auto& h : m.holds) (h.contender.holds ? holds : ahead).push_back(place_json(h));
    members.push_back(json::object{{"owner", is_utf8(owner) ? owner : std::string{"?"}},
                                   {"certain", m.certain},
                                   {"time_limit", m.has_time_limit},
                                   {"waits_for", place_json(m.waits_for)},
                                   {"holds", std::move(holds)},
                                   {"ahead_in", std::move(ahead)}});
  }
  return {{"certain", d.certain},
          {"explanation", printable(explain(d))},
          {"members", std::move(members)}};
}

}  // namespace

std::vector<deadlock> confirmed_deadlocks(client& zk, const wait_graph& g) {
  auto all = g.deadlocks();
  std::erase_if(all, [&](const deadlock& d) { return !confirm(zk, d); });
  return all;
}

std::string deadlock_sentence(const deadlock& d) {
  return (d.certain ? "Deadlock: " : "Possible deadlock: ") + printable(explain(d)) + ".";
}

json::array deadlocks_json(const std::vector<deadlock>& all) {
  json::array list;
  for (const auto& d : all) list.push_back(deadlock_json(d));
  return list;
}

std::string no_deadlock_sentence(const inspection& s) {
  return s.unreadable.empty() ? "There is no deadlock."
                              : "No deadlock was found in the part that can be read.";
}

int exit_code_for(const std::vector<deadlock>& all, const inspection& s) noexcept {
  if (all.empty()) return s.unreadable.empty() ? ok : no_permission;
  const bool certain = std::any_of(all.begin(), all.end(), [](const auto& d) { return d.certain; });
  return certain ? deadlocked : possibly_deadlocked;
}

}  // namespace conclave::cli
