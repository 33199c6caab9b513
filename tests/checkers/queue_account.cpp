#include "queue_account.hpp"

namespace conclave::checkers {

void queue_account::pushed(std::string_view item, fate f) {
  auto& e = of(item);
  e.done = f == fate::done;
  e.refused = f == fate::refused;
  pushes_ += e.done;
  unknown_ += f == fate::unknown;
}

void queue_account::delivered(std::string_view item) {
  ++deliveries_;
  if (++of(item).delivered > 1) report_violation(std::string{item} + " was delivered twice");
}

void queue_account::delivery_unknown(std::string_view item) {
  ++unknown_;
  ++of(item).perhaps;
}

void queue_account::close() {
  std::uint64_t missing = 0;
  for (const auto& [item, e] : entries_) {
    if (e.refused && e.delivered > 0) report_violation(item + " was refused, but was delivered");
    if (e.done && e.delivered == 0 && e.perhaps == 0) ++missing;
  }
  unknown_ += lost_;
  if (missing > lost_)
    report_violation(std::to_string(missing) + " items are missing, " + std::to_string(lost_) +
                     " may be");
}

}  // namespace conclave::checkers
