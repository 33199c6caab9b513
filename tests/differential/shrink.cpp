#include "differential/shrink.hpp"

#include <algorithm>

namespace conclave::differential {

std::vector<std::size_t> shrunk(std::vector<std::size_t> kept, const trial& differ_after,
                                std::chrono::seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (auto piece = std::max<std::size_t>(kept.size() / 2, 1);;) {
    bool any = false;
    for (std::size_t begin = 0; begin < kept.size();) {
      if (std::chrono::steady_clock::now() > deadline) return kept;
      const auto end = std::min(begin + piece, kept.size());
      auto rest = kept;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(begin),
                 rest.begin() + static_cast<std::ptrdiff_t>(end));
      if (const auto used = differ_after(rest); used > 0) {
        rest.resize(used);
        kept = std::move(rest);
        any = true;
      } else {
        begin = end;
      }
    }
    if (piece == 1 && !any) return kept;
    piece = std::max<std::size_t>(piece / 2, 1);
  }
}

}  // namespace conclave::differential
