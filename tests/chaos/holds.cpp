#include "chaos/holds.hpp"

#include <algorithm>
#include <map>

namespace conclave::chaos {
namespace {

void read_process(const process_record& l, combined_history& all) {
  history_reader reader{l.file};
  std::map<std::string, std::size_t> open;  // by the ids of this process
  for (auto& e : reader.more()) {
    if (e.what == "granted") {
      hold_record h;
      h.id = all.holds.size() + 1;
      h.by = &l;
      h.resource = e.word(1);
      h.token = e.number(2);
      h.mode = e.word(3);
      h.session = e.number(4);
      h.begin = e.at;
      h.until = e.number(5);
      open[e.word(0)] = all.holds.size();
      all.holds.push_back(std::move(h));
    } else if (e.what == "until") {
      all.holds.at(open.at(e.word(0))).until = e.number(1);
    } else if (e.what == "downgrading") {
      all.holds.at(open.at(e.word(0))).downgrading = e.at;
    } else if (e.what == "ended") {
      auto& h = all.holds.at(open.at(e.word(0)));
      h.ended = e.at;
      h.reported_lost = e.word(1) == "lost";
    }
    all.events.push_back({&l, std::move(e)});
  }
}

}  // namespace

nanoseconds hold_record::end() const {
  auto t = until;
  if (ended) t = std::min(t, *ended);
  if (by->killed) t = std::min(t, *by->killed);
  return std::max(t, begin);
}

combined_history combine(const std::vector<process_record>& processes) {
  combined_history all;
  for (const auto& l : processes) read_process(l, all);
  std::stable_sort(all.events.begin(), all.events.end(),
                   [](const auto& a, const auto& b) { return a.what.at < b.what.at; });
  std::stable_sort(all.holds.begin(), all.holds.end(),
                   [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return all;
}

}  // namespace conclave::chaos
