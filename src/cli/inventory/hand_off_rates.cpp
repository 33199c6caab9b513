#include "cli/inventory/hand_off_rates.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto window = 10s;

std::optional<std::int64_t> sequence_number(std::string_view node) {
  constexpr std::size_t digits = 10;
  if (node.size() < digits) return {};
  node.remove_prefix(node.size() - digits);
  std::int64_t number = 0;
  const auto [stop, ec] = std::from_chars(node.data(), node.data() + digits, number);
  if (ec != std::errc{} || stop != node.data() + digits) return {};
  return number;
}

std::optional<std::int64_t> newest_holder(const recipe_info& r) {
  std::optional<std::int64_t> newest;
  if (r.what == recipe_info::kind::queue) return newest;
  for (const auto& c : r.contenders)
    if (const auto number = c.holds ? sequence_number(c.node) : std::nullopt)
      newest = std::max(newest.value_or(*number), *number);
  return newest;
}

}  // namespace

void hand_off_rates::add(const inspection& s, clock::time_point now) {
  for (const auto& r : s.recipes) {
    const auto number = newest_holder(r);
    if (!number) continue;
    auto& samples = samples_[{r.path, r.layout}];
    // The path was removed and created again, so counting starts again.
    if (!samples.empty() && *number < samples.back().number) samples.clear();
    samples.push_back({now, *number});
  }
  for (auto at = samples_.begin(); at != samples_.end();) {
    auto& samples = at->second;
    // The newest sample before the window is the state at its beginning.
    while (samples.size() > 1 && samples[1].when <= now - window) samples.pop_front();
    const bool is_unused = samples.back().when < now - 10 * window;
    at = is_unused ? samples_.erase(at) : std::next(at);
  }
}

std::optional<double> hand_off_rates::of(const recipe_info& r, clock::time_point now) const {
  const auto found = samples_.find({r.path, r.layout});
  if (found == samples_.end()) return {};
  const auto& samples = found->second;
  if (now - samples.front().when < 1s) return {};
  const auto begin = std::max(samples.front().when, now - window);
  // If nothing has changed since then, there were no hand-offs.
  if (samples.back().when < begin) return 0.0;
  const std::chrono::duration<double> observed = now - begin;
  return static_cast<double>(samples.back().number - samples.front().number) / observed.count();
}

std::optional<std::chrono::milliseconds> longest_wait(const recipe_info& r,
                                                      std::chrono::system_clock::time_point now) {
  std::optional<std::chrono::milliseconds> longest;
  for (const auto& c : r.contenders) {
    if (c.holds || !c.readable) continue;
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(now - c.since);
    longest = std::max({longest.value_or(0ms), waited, 0ms});
  }
  return longest;
}

std::size_t count_waiters(const recipe_info& r) noexcept {
  return static_cast<std::size_t>(std::count_if(r.contenders.begin(), r.contenders.end(),
                                                [](const contender_info& c) { return !c.holds; }));
}

}  // namespace conclave::cli
