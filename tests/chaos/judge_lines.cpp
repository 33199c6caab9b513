#include <algorithm>
#include <sstream>
#include <utility>

#include "chaos/run_judge.hpp"

namespace conclave::chaos {

// The faults and events around this time. If `resource` is not empty, only events of its holders.
std::vector<std::string> run_judge::lines(nanoseconds at, const std::string& resource) const {
  constexpr std::size_t each_side = 12;
  std::set<const process_record*> concerned;
  for (const auto& h : all_.holds)
    if (h.resource == resource && h.begin <= at + second && h.end() >= at - second)
      concerned.insert(h.by);
  std::vector<std::pair<nanoseconds, std::string>> before;
  std::vector<std::pair<nanoseconds, std::string>> after;
  const auto put = [&](nanoseconds t, const std::string& who, const std::string& text) {
    if (t > at && after.size() >= each_side) return;
    std::ostringstream line;
    line.setf(std::ios::fixed);
    line.precision(3);
    line << (t - at > 0 ? "+" : "") << static_cast<double>(t - at) / millisecond << " ms  " << who
         << "  " << text;
    (t > at ? after : before).emplace_back(t, line.str());
  };
  const auto first =
      std::lower_bound(all_.events.begin(), all_.events.end(), at - 6 * second,
                       [](const recorded_event& e, nanoseconds t) { return e.what.at < t; });
  for (auto e = first; e != all_.events.end() && e->what.at < at + 6 * second; ++e) {
    if (!resource.empty() && !concerned.contains(e->by)) continue;
    std::string text = e->what.what;
    for (const auto& w : e->what.words) text += ' ' + w;
    put(e->what.at, e->by->name, text);
  }
  const auto middle = before.size();
  if (middle > each_side) before.erase(before.begin(), before.end() - each_side);
  for (const auto& f : run_.faults)
    if (f.at > at - 6 * second && f.at < at + second) put(f.at, f.target, "[" + f.kind + "]");
  before.insert(before.end(), after.begin(), after.end());
  std::stable_sort(before.begin(), before.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> result;
  result.reserve(before.size());
  for (auto& [t, line] : before) result.push_back(std::move(line));
  return result;
}

}  // namespace conclave::chaos
