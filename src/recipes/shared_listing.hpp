// Listings of wait queues that several contenders of one session share.
//
// Many contenders of a session may enter one wait queue, or be woken, at the same time. If each of
// them listed the wait queue, the cost would grow with the square of their number. So only a few
// listings of a wait queue are in flight at a time. Contenders that need a listing at that time
// wait for the next one and share it. A contender never uses a listing whose request was sent
// before the contender needed the listing.
//
// All members must be called inside a session_context::scope.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conclave/error.hpp"
#include "recipes/wait/wait_queue.hpp"
#include "recipes/wakeup.hpp"

namespace conclave::recipes {

struct shared_listing {
  enum class phase { not_sent, sent, received };
  phase current = phase::not_sent;

  // --- valid once received

  error_code ec;
  wait_queue contenders;
  std::string mismatch;  // explains errc::layout_mismatch and errc::permits_mismatch

 private:
  friend class shared_listings;
  struct user {
    std::weak_ptr<void> owner;  // of the wakeup
    wakeup* changed;
  };
  std::vector<user> users;
};

class shared_listings {
 public:
  struct key {
    std::int64_t session = 0;
    std::string parent;
    std::string names;  // identifies the names that count as contenders
    auto operator<=>(const key&) const = default;
  };

  // Returns the next listing, whose request has not been sent yet. `changed` is notified when the
  // listing has been received, and when the caller may send the request. `owner` owns `changed`.
  std::shared_ptr<shared_listing> join(const key& k, std::weak_ptr<void> owner, wakeup& changed);
  // Returns true if the request for the next listing may be sent now.
  bool may_send(const key& k) const;
  // A contender that sends the request for the next listing calls sent(). When it has the reply, it
  // calls received().
  void sent(const key& k);
  void received(const key& k, const std::shared_ptr<shared_listing>& l);

  // The number of listings of one wait queue that may be in flight. It is greater than 1, so that a
  // few contenders that arrive at the same time need not wait for each other.
  std::size_t most_in_flight = 4;

 private:
  struct queue {
    std::size_t in_flight = 0;
    std::shared_ptr<shared_listing> next;
  };
  std::map<key, queue> queues_;
};

}  // namespace conclave::recipes
