// A queue shared by processes and machines, compatible with ZooKeeper's DistributedQueue.
//
//   conclave::queue jobs{zk, "/jobs"};
//   jobs.push("resize 1.png");
//   std::string next = jobs.pop().data;        // waits for an item
//
//   conclave::queue_claim job = jobs.claim();  // or: the item stays until complete()
//   resize(job.data());
//   job.complete();
//
// There are two ways to consume items: popping and claiming. All consumers of a queue must use the
// same one, because pop() ignores claims. If one consumer pops an item that another one has
// claimed, the item is not lost, but both process it.
//
// Popping removes an item permanently, and exactly one consumer gets it. While the session lives, a
// lost reply neither loses nor duplicates an item. Each removal also changes the consumer's counter
// node, a node in PATH.conclave. So after a reconnect, the counter node shows whether the removal
// happened. Two risks remain:
// - If the program exits before it has processed the item, the item is lost.
// - If the outcome of the removal stays unknown, the item may be lost. The call then fails with
//   errc::session_expired because the session has ended, or with errc::connection_loss because
//   somebody has changed or deleted the counter node by hand.
//
// Claiming leaves the item in the queue until complete(). While the claim is held, no other
// consumer gets the item. Like a lock, a claim has a hold (hold.hpp). If the consumer releases the
// claim, exits or loses its session, the item is available again at its old position. The queue
// counts how often an item was claimed. Therefore claiming needs write permission on the items.
// Popping needs only delete permission.
//
// A push waits while the queue is full (queue_options::capacity). After a lost connection, it is
// repeated. It never duplicates items while the session lives. The outcome of a push can also stay
// unknown. The push then fails with errc::session_expired or errc::connection_loss, for the same
// reasons as a pop.
//
// Order: items are ordered by priority, if the layout has priorities (lower numbers first), and
// then first in, first out. A single consumer gets them in exactly this order. Concurrent consumers
// divide the items by sequence number, and each gets its share in order. If a consumer makes no
// progress, the others also acquire the items of its share.
//
// If there are more than 64 consumers and fewer than four items for each of them, they may get
// items in random order. A consumer is included in this number from the first item that it finds
// until its queue object is destroyed, even while it is idle.
//
// A consumer works through a listing of the queue. The following items can become available ahead
// of the listed ones: new items with a higher priority, items whose claim was released, and items
// in the share of a consumer that makes no progress. If one of these cases is possible, the
// consumer lists the queue again after 512 items, or after one sixteenth of the queue if that is
// more. Until then, it does not see these items, so it may get them late.
//
// Waiting consumers form a wait queue, and a new item wakes only the first of them. The node
// PATH.conclave next to the queue contains this wait queue and the counter nodes. Queue objects of
// one client with the same path and options count as one consumer, and their calls together get the
// items in order. Destroying one object aborts only its own calls.
//
// The functions of ZooKeeper's recipe and their equivalents:
//
//   ZooKeeper     here           if the queue is empty
//   offer(data)   push(data)     pushes the item
//   peek()        front()        returns nullopt
//   element()     front()        returns nullopt, throws no exception
//   poll()        try_pop()      returns nullopt
//   remove()      try_pop()      returns nullopt, throws no exception
//   take()        pop()          waits
//
// Several threads may use one object. Functions throw the same errors as the client's calls, and
// also:
// - errc::too_large: a pushed item does not fit into a request together with the data that a claim
//   adds, or all items of a push do not fit into one request. The limit for claims applies even if
//   items are only popped. The call has no effect. If a request is larger than the server's own
//   limit, the server closes the connection without a reply. In that case, the call fails only
//   after several lost connections.
// - errc::layout_mismatch: the queue has a different layout, as find_queue_layout() determines it,
//   and no items of this layout. If only some items have a different layout, the queue ignores
//   these items. Pushing does not check the layout.
//
// A queue works until its client is closed or destroyed.
#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "conclave/client.hpp"
#include "conclave/detail/locking.hpp"
#include "conclave/hold.hpp"
#include "conclave/queue_item.hpp"
#include "conclave/queue_options.hpp"

namespace conclave {

namespace client_impl {
struct queue_handle;
struct claim_handle;
}  // namespace client_impl

namespace detail {
using queue_pointer = std::shared_ptr<client_impl::queue_handle>;
using claim_pointer = std::shared_ptr<client_impl::claim_handle>;
}  // namespace detail

// A claimed item. The destructor releases the claim unless the item was completed. An empty or
// moved-from claim is not held. release() has no effect on it, and functions that access its item
// throw errc::lock_lost. A claim may outlive the queue object. It is lost when the client is closed
// or destroyed.
class queue_claim {
 public:
  queue_claim() = default;  // empty
  queue_claim(queue_claim&&) noexcept = default;
  queue_claim& operator=(queue_claim&& other) noexcept;
  ~queue_claim();

  const std::string& data() const;
  const std::string& name() const;
  int priority() const;
  int attempts() const;  // how often the item was claimed, including this claim

  // Removes the item from the queue. Do not repeat the call if it throws:
  // - errc::lock_lost: the claim was already lost, completed or released. Another consumer may be
  //   processing the item, or may have processed it.
  // - errc::session_expired: the session ended, and the outcome is unknown.
  // - Any other error from the server, for example errc::no_auth: the item could not be removed.
  //   The claim is released, so the item will be claimed and processed again.
  // If the connection is lost, the call waits for a reconnect and resolves the outcome. So it does
  // not throw errc::connection_loss.
  void complete();
  // Completes with void(error_code).
  template <class Token>
  auto async_complete(Token&& token);
  // Releases the claim, so that another consumer can claim the item. Returns at once. The library
  // sends the request and retries until the server confirms it or the session ends.
  void release() noexcept;

  // The claim's hold, with the same members as the hold of a lock.
  conclave::hold hold() const;
  bool held() const { return hold().held(); }
  std::stop_token lost() const { return hold().lost(); }
  explicit operator bool() const noexcept { return state_ != nullptr; }

  explicit queue_claim(detail::claim_pointer state) : state_{std::move(state)} {}

 private:
  const detail::claim_pointer& claimed() const;
  detail::claim_pointer state_;
};

namespace detail {
void start_push(const queue_pointer&, receiver<bool>, std::vector<std::string> items, int priority,
                deadline);
void start_front(const queue_pointer&, receiver<std::optional<queue_item>>);
void start_pop(const queue_pointer&, receiver<std::optional<queue_item>>, deadline);
void start_claim(const queue_pointer&, receiver<std::optional<queue_claim>>, deadline);
void start_complete(const claim_pointer&, receiver<void>);

inline std::vector<std::string> single_item(std::string data) {
  std::vector<std::string> items;
  items.push_back(std::move(data));
  return items;
}
}  // namespace detail

class queue {
 public:
  // Sends nothing. Throws errc::invalid_path.
  queue(client& c, std::string path, queue_options options = {});
  // Pushes that were already sent still take effect. Waiting calls complete with operation_aborted.
  // Claims stay valid.
  ~queue();
  queue(const queue&) = delete;
  queue& operator=(const queue&) = delete;

  // --- producing

  // Waits while the queue is full. Several items of one call are pushed in one transaction: either
  // all of them or none. They stay adjacent in the queue. Pushes of several callers may share a
  // transaction. Throws errc::invalid_argument if the layout does not support this priority.
  void push(std::string data, int priority = default_priority);
  void push(std::vector<std::string> items, int priority = default_priority);
  void push(std::initializer_list<std::string> items, int priority = default_priority) {
    push(std::vector<std::string>{items}, priority);
  }
  // The following functions return false, and push nothing, if the queue stays full until the
  // deadline. If the queue has no capacity limit, all of them return true. If the push was already
  // sent when the deadline passes, the functions wait for its outcome. try_push() does not wait. It
  // also returns false while earlier calls of this object wait for capacity, because an object
  // pushes in the order of its calls. Waiting calls of other objects do not affect it.
  [[nodiscard]] bool try_push(std::string data, int priority = default_priority);
  [[nodiscard]] bool try_push(std::vector<std::string> items, int priority = default_priority);
  [[nodiscard]] bool try_push(std::initializer_list<std::string> items,
                              int priority = default_priority) {
    return try_push(std::vector<std::string>{items}, priority);
  }
  template <class Rep, class Period>
  [[nodiscard]] bool push_for(const std::chrono::duration<Rep, Period>& d, std::string data,
                              int priority = default_priority) {
    return push_before(detail::single_item(std::move(data)), priority, detail::deadline_after(d));
  }
  template <class Rep, class Period>
  [[nodiscard]] bool push_for(const std::chrono::duration<Rep, Period>& d,
                              std::vector<std::string> items, int priority = default_priority) {
    return push_before(std::move(items), priority, detail::deadline_after(d));
  }
  template <class Rep, class Period>
  [[nodiscard]] bool push_for(const std::chrono::duration<Rep, Period>& d,
                              std::initializer_list<std::string> items,
                              int priority = default_priority) {
    return push_for(d, std::vector<std::string>{items}, priority);
  }
  // Completes with void(error_code, bool). The push waits while the queue is full, so the bool is
  // true unless there is an error. Cancelling completes the push with operation_aborted, unless it
  // was already sent.
  template <class Token>
  auto async_push(std::string data, int priority, Token&& token) {
    return async_push(detail::single_item(std::move(data)), priority, std::forward<Token>(token));
  }
  template <class Token>
  auto async_push(std::vector<std::string> items, int priority, Token&& token) {
    return detail::initiate<bool>(state_, &detail::start_push, std::forward<Token>(token),
                                  std::move(items), priority, detail::no_deadline);
  }
  template <class Token>
  auto async_push(std::initializer_list<std::string> items, int priority, Token&& token) {
    return async_push(std::vector<std::string>{items}, priority, std::forward<Token>(token));
  }

  template <class Token>
  auto async_push(std::string data, Token&& token) {
    return async_push(std::move(data), default_priority, std::forward<Token>(token));
  }
  template <class Token>
  auto async_push(std::vector<std::string> items, Token&& token) {
    return async_push(std::move(items), default_priority, std::forward<Token>(token));
  }
  template <class Token>
  auto async_push(std::initializer_list<std::string> items, Token&& token) {
    return async_push(std::vector<std::string>{items}, std::forward<Token>(token));
  }

  // --- inspecting

  // Returns the first item without removing it, or nullopt if the queue is empty. Another consumer
  // may already have claimed this item, so the next claim() may get a different one.
  std::optional<queue_item> front();
  // Completes with void(error_code, std::optional<queue_item>).
  template <class Token>
  auto async_front(Token&& token) {
    return detail::initiate<std::optional<queue_item>>(state_, &detail::start_front,
                                                       std::forward<Token>(token));
  }
  // Returns the number of items, without those that were set aside. size() does not list the queue,
  // so it also counts foreign nodes that are not items. While such nodes exist, empty() is false
  // even if pop() waits. names().size() counts only items.
  // Throws errc::layout_mismatch if the items of a different layout are in another node.
  std::size_t size() const;
  bool empty() const { return size() == 0; }
  // Returns the names of all items in order. client::get(item_path(name)) returns an item's data.
  std::vector<std::string> names() const;
  std::string item_path(const std::string& name) const;

  // --- popping. These functions throw errc::invalid_argument if the layout supports only claims.

  queue_item pop();
  // The following functions return nullopt if the queue stays empty until a stop is requested or
  // the deadline passes. try_pop() does not wait. A call whose item is already being removed waits
  // for the outcome.
  std::optional<queue_item> pop(std::stop_token stop);
  [[nodiscard]] std::optional<queue_item> try_pop();
  template <class Rep, class Period>
  std::optional<queue_item> pop_for(const std::chrono::duration<Rep, Period>& d) {
    return pop_before(detail::deadline_after(d));
  }
  template <class Clock, class Duration>
  std::optional<queue_item> pop_until(const std::chrono::time_point<Clock, Duration>& t) {
    return pop_before(detail::deadline_at(t));
  }
  // Completes with void(error_code, std::optional<queue_item>). The item is set unless there is an
  // error. Items of concurrent calls are removed in one transaction. Cancelling completes the call
  // with operation_aborted, unless its item is already being removed.
  template <class Token>
  auto async_pop(Token&& token) {
    return detail::initiate<std::optional<queue_item>>(
        state_, &detail::start_pop, std::forward<Token>(token), detail::no_deadline);
  }
  // Completes without an item if no item arrives in time. With a duration of zero or less, behaves
  // like try_pop().
  template <class Rep, class Period, class Token>
  auto async_pop_for(const std::chrono::duration<Rep, Period>& d, Token&& token) {
    return detail::initiate<std::optional<queue_item>>(
        state_, &detail::start_pop, std::forward<Token>(token), detail::deadline_after(d));
  }

  // --- claiming

  queue_claim claim();
  // The following functions return nullopt in the same cases as pop(stop), try_pop() and pop_for().
  // A call that has begun to claim an item, or to set one aside, waits for the outcome. There is no
  // claim_until(): for a time point t, use claim_for(t - now).
  std::optional<queue_claim> claim(std::stop_token stop);
  [[nodiscard]] std::optional<queue_claim> try_claim();
  template <class Rep, class Period>
  std::optional<queue_claim> claim_for(const std::chrono::duration<Rep, Period>& d) {
    return claim_before(detail::deadline_after(d));
  }
  // Completes with void(error_code, std::optional<queue_claim>), like async_pop().
  template <class Token>
  auto async_claim(Token&& token) {
    return detail::initiate<std::optional<queue_claim>>(
        state_, &detail::start_claim, std::forward<Token>(token), detail::no_deadline);
  }
  template <class Rep, class Period, class Token>
  auto async_claim_for(const std::chrono::duration<Rep, Period>& d, Token&& token) {
    return detail::initiate<std::optional<queue_claim>>(
        state_, &detail::start_claim, std::forward<Token>(token), detail::deadline_after(d));
  }

  // --- items that were set aside
  //
  // If an item was claimed queue_options::max_attempts times and never completed, the next claiming
  // consumer sets it aside: it moves the item out of the queue, and no consumer gets it until
  // restore() is called. Popping never sets items aside.

  // Returns the items that were set aside, in order.
  std::vector<queue_item> set_aside() const;
  // Moves an item that was set aside back into the queue, behind all items of the same priority.
  // Its attempts are counted from zero, and the capacity is not checked. Only the name of `item` is
  // used. Throws errc::no_node if the item is no longer set aside.
  void restore(const queue_item& item);
  // Deletes an item that was set aside. Only the name of `item` is used. No effect if the item no
  // longer exists.
  void discard(const queue_item& item);

 private:
  bool push_before(std::vector<std::string> items, int priority, detail::deadline d);
  std::optional<queue_item> pop_before(detail::deadline d);
  std::optional<queue_claim> claim_before(detail::deadline d);
  detail::queue_pointer state_;
};

template <class Token>
auto queue_claim::async_complete(Token&& token) {
  return detail::initiate<void>(claimed(), &detail::start_complete, std::forward<Token>(token));
}

}  // namespace conclave
