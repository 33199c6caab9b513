#include "queue_account.hpp"

namespace conclave::checkers {

void queue_account::pushed(std::string_view item, fate f) {
  auto& e = of(item);
  e.done = f == fate::done;
  e.refused = f == fate::refused;
  pushes_ += e.done;
  unclear_ += f == fate::unclear;
}

void queue_account::delivered(std::string_view item) {
  ++deliveries_;
  if (++of(item).delivered > 1) complain(std::string{item} + " was delivered twice");
}

void queue_account::perhaps_delivered(std::string_view item) {
  ++unclear_;
  ++of(item).perhaps;
}

void queue_account::close() {
  std::uint64_t missing = 0;
  for (const auto& [item, e] : entries_) {
    if (e.refused && e.delivered > 0) complain(item + " was refused, and was in the queue");
    if (e.done && e.delivered == 0 && e.perhaps == 0) ++missing;
  }
  unclear_ += lost_;
  if (missing > lost_)
    complain(std::to_string(missing) + " items are missing, " + std::to_string(lost_) + " may be");
}

}  // namespace conclave::checkers
