#include "recipes/shared_listing.hpp"

#include <utility>

namespace conclave::recipes {

std::shared_ptr<shared_listing> shared_listings::join(const key& k, std::weak_ptr<void> owner,
                                                      wakeup& changed) {
  auto& next = queues_[k].next;
  if (!next) next = std::make_shared<shared_listing>();
  next->users.push_back({std::move(owner), &changed});
  return next;
}

bool shared_listings::may_send(const key& k) const {
  const auto q = queues_.find(k);
  return q == queues_.end() || q->second.in_flight < most_in_flight;
}

void shared_listings::sent(const key& k) {
  auto& q = queues_[k];
  ++q.in_flight;
  std::exchange(q.next, {})->current = shared_listing::phase::sent;
}

// A notified contender runs at once, and may join or send the next listing.
void shared_listings::received(const key& k, const std::shared_ptr<shared_listing>& l) {
  --queues_[k].in_flight;
  l->current = shared_listing::phase::received;
  for (const auto& user : std::exchange(l->users, {}))
    if (const auto alive = user.owner.lock()) user.changed->notify();

  const auto next = queues_[k].next;
  for (std::size_t i = 0; next && i < next->users.size() && may_send(k); ++i) {
    if (next->current != shared_listing::phase::not_sent) break;
    const auto user = next->users[i];
    if (const auto alive = user.owner.lock()) user.changed->notify();
  }
  // If the next listing was not sent although it could be, all its users have left.
  const auto q = queues_.find(k);
  if (q == queues_.end()) return;
  if (q->second.next == next && may_send(k)) q->second.next.reset();
  if (q->second.in_flight == 0 && !q->second.next) queues_.erase(q);
}

}  // namespace conclave::recipes
