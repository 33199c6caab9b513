#include <utility>

#include "chaos/run_judge.hpp"
#include "checkers/queue_account.hpp"

namespace conclave::chaos {

// If a process was killed during a call, the outcome of the call is unknown.
void run_judge::queue(const std::string& name, const std::set<std::string>& jobs) {
  using fate = checkers::queue_account::fate;
  nanoseconds at = 0;
  checkers::queue_account account{
      [&](const std::string& what) { report_violation(at, name + ": " + what, {}); }};
  std::map<const process_record*, bool> popping;
  std::map<std::string, bool> pushing;
  std::map<std::pair<const process_record*, std::string>, bool> completing;
  for (const auto& t : all_.events) {
    if (!jobs.contains(t.by->job)) continue;
    const auto& e = t.what;
    at = e.at;
    if (e.what == "pushing") {
      pushing[e.word(0)] = true;
    } else if (e.what == "pushed") {
      pushing.erase(e.word(0));
      const auto& f = e.word(1);
      account.pushed(e.word(0), f == "done"      ? fate::done
                                : f == "refused" ? fate::refused
                                                 : fate::unknown);
    } else if (e.what == "popping") {
      popping[t.by] = true;
    } else if (e.what == "popped") {
      popping[t.by] = false;
      if (e.word(0) != "-") account.delivered(e.word(0));
    } else if (e.what == "pop-unknown") {
      popping[t.by] = false;
      account.pop_outcome_unknown();
    } else if (e.what == "completing") {
      completing[{t.by, e.word(0)}] = true;
    } else if (e.what == "completed") {
      completing.erase({t.by, e.word(0)});
      if (e.word(1) == "done") account.delivered(e.word(0));
      if (e.word(1) == "unknown") account.delivery_unknown(e.word(0));
    }
  }
  for (const auto& [item, open] : pushing) account.pushed(item, fate::unknown);
  for (const auto& [by, open] : popping)
    if (open) account.pop_outcome_unknown();
  for (const auto& [key, open] : completing) account.delivery_unknown(key.second);
  account.close();
  result_.queues[name] = {account.pushes(), account.deliveries(), account.unknown()};
}

}  // namespace conclave::chaos
