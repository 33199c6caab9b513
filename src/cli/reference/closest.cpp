#include "cli/reference/closest.hpp"

#include <algorithm>

namespace conclave::cli {
namespace {

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (same ? 0u : 1u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string> closest(std::string_view word, const std::vector<std::string>& known) {
  std::optional<std::string> best;
  std::size_t least = 0;
  for (const auto& k : known) {
    const bool begins = word.size() > 1 && k.starts_with(word);
    const auto d = begins ? 1 : distance(word, k);
    if (d > std::max<std::size_t>(1, word.size() / 3) || (best && d >= least)) continue;
    best = k;
    least = d;
  }
  return best;
}

}  // namespace conclave::cli
