#include "contests.hpp"

#include <chrono>
#include <functional>
#include <utility>

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using group = std::vector<const variant*>;
using plan_maker = std::function<round_plan(const variant&)>;

// Longer than that, and one round has to do.
constexpr auto long_round = 6s;

bool is_wanted(const options& o, const std::string& name) {
  return name.starts_with(o.only) || o.only.starts_with(name);
}

std::string cut_short(const variant& who, const std::string& title, const round_plan& plan,
                      const round_result& r) {
  return who.name + " was stopped after " + std::to_string(plan.limit / 1s) + " s: " + title +
         ", " + std::to_string(static_cast<long>(r.found.at(figure::items))) + " of " +
         std::to_string(plan.items) + " items; its figure is of those";
}

// A first round of each does not count, unless it takes so long that it has to be the only one.
void compete(arena& where, const std::string& name, const std::string& title, const group& all,
             const plan_maker& plan_for, const options& wanted, results& found,
             progress_display& progress) {
  series s{name, title, {}, {}};
  std::vector<contender> quick;
  progress.step(title + ", first round", all.size());
  for (const auto* who : all) {
    s.contenders.push_back(who->name);
    const auto plan = plan_for(*who);
    const auto begun = clock::now();
    auto first = where.run(plan);
    if (first.stopped) found.remarks.push_back(cut_short(*who, title, plan, first));
    if (first.stopped || clock::now() - begun > long_round)
      s.result.rounds[who->name] = {std::move(first.found)};
    else
      quick.push_back({who->name, [&where, plan, &found, &title, who] {
                         auto r = where.run(plan);
                         if (r.stopped) found.remarks.push_back(cut_short(*who, title, plan, r));
                         return std::move(r.found);
                       }});
    progress.round_done(who->name);
  }
  auto measured = take_turns({title, wanted.rounds, 0}, std::move(quick), progress);
  s.result.rounds.merge(measured.rounds);
  found.all.push_back(std::move(s));
}

round_plan flow_plan_for(const variant& who, std::size_t side, const options& wanted) {
  const auto items = side == 1 ? wanted.items / 2 : wanted.items;
  return {&who, side, side, items, wanted.limit};
}

}  // namespace

void warm_up(arena& where, const options& wanted, progress_display& progress) {
  const auto& all = variants::all;
  progress.step("Warming up", all.size() * 2);
  for (const auto* who : all)
    for (const std::size_t side : sides) {
      auto plan = flow_plan_for(*who, side, wanted);
      plan.limit = std::min<std::chrono::milliseconds>(plan.limit, 8s);
      where.run(plan);
      progress.round_done(who->name);
    }
}

void compete_in_flow(arena& where, const options& wanted, results& found,
                     progress_display& progress) {
  for (const auto side : sides) {
    const auto name = flow_of(side);
    if (!is_wanted(wanted, name)) continue;
    const auto title = std::to_string(side) + (side == 1 ? " producer, " : " producers, ") +
                       std::to_string(side) + (side == 1 ? " consumer" : " consumers");
    compete(
        where, name, title, variants::all,
        [&](const variant& who) { return flow_plan_for(who, side, wanted); }, wanted, found,
        progress);
  }
}

void compete_in_draining(arena& where, const options& wanted, results& found,
                         progress_display& progress) {
  for (const auto consumers : consumer_counts)
    for (const auto length : lengths) {
      const auto name = drain_of(consumers, length);
      if (!is_wanted(wanted, name)) continue;
      group able;
      for (const auto* who : variants::all)
        if (who->library == library::conclave || length <= wanted.longest_for_peers)
          able.push_back(who);
      compete(
          where, name,
          std::to_string(length) + " items there already, " + std::to_string(consumers) +
              (consumers == 1 ? " consumer" : " consumers"),
          able,
          [&](const variant& who) {
            return round_plan{&who, 0, consumers, static_cast<std::int64_t>(length), wanted.limit};
          },
          wanted, found, progress);
    }
}

}  // namespace conclave::bench
