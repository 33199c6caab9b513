// A queue across processes and machines: ZooKeeper's DistributedQueue.
//
//   conclave::queue jobs{zk, "/jobs"};
//   jobs.push("resize 1.png");
//   std::string next = jobs.pop().data;             // waits for one
//
//   conclave::queue_claim job = jobs.claim();       // or so: kept until we say that it is done
//   resize(job.data());
//   job.complete();
//
// Two ways to consume:
//
// *Popping* takes an item away for good. An item is popped by one consumer only, and as long as the
// session lives no lost reply loses or doubles one: the transaction that removes items also counts
// in a node of this consumer's, so that after a cut it is known whether it happened. What remains:
// a program that ends after the removal and before it has done its work takes the item with it; and
// if the session ends while a removal is under way, the call fails with errc::session_expired (or
// errc::connection_loss, if somebody touched that node), and its item may be gone.
//
// *Claiming* leaves the item in the queue, marked as ours, until complete(). If we give it back,
// die, or lose our session, it is there again for others, in its old place; nobody else has it
// while our claim is held (queue_claim is a hold, as a lock's: hold.hpp). Attempts are counted.
// All consumers of a queue must consume in the same way, as a pop does not look for claims.
// Claiming takes the permission to write to the items (which counts the attempt), popping only that
// to remove them.
//
// Pushing: repeated after a cut without doubling, by the same kind of counter. If the session ends
// meanwhile it fails with errc::session_expired or errc::connection_loss, and the items may or may
// not be there (condition::outcome_unknown).
//
// Order: by priority, where the layout has them (lower numbers first), then first in, first out. A
// single consumer takes them in exactly this order. Consumers that take items at the same time
// share what is there among themselves, so as not to fight for each one: each takes its share in
// order. An item with a higher priority than those that a consumer has seen is seen by it some
// hundred items later.
//
// Waiting: consumers that wait for an item stand in a line, and a new item wakes the first of it
// only. The node PATH.conclave beside the queue holds that line and the counters.
//
// Names in ZooKeeper's recipe, and what happens if the queue is empty:
//
//   offer(data)   push(data)
//   peek()        front()        nothing
//   element()     front()        nothing, rather than an exception
//   poll()        try_pop()      nothing
//   remove()      try_pop()      nothing, rather than an exception
//   take()        pop()          waits
//
// Several threads may use one object. Errors are thrown as by the client's calls; errc::too_large
// if an item does not fit into a request, with what claiming it will take, before anything is sent;
// errc::layout_mismatch by whatever looks for items and finds only those of another layout. A queue
// keeps what it needs of its client alive, but works only until the client is closed or destroyed.
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
#include "conclave/queue_options.hpp"

namespace conclave {

namespace detail {
struct queue_handle;
using queue_pointer = std::shared_ptr<queue_handle>;
struct claim_handle;
using claim_pointer = std::shared_ptr<claim_handle>;
}  // namespace detail

// Of layouts with priorities: 0 to 999, lower ones first.
inline constexpr int default_priority = 100;

struct queue_item {
  std::string name;  // of its node
  std::string data;
  int priority = default_priority;
};

// An item that was claimed. Destroying it gives it back. One of nothing is not held; whatever asks
// it for its item throws errc::lock_lost.
class queue_claim {
 public:
  queue_claim() = default;  // of nothing
  queue_claim(queue_claim&&) noexcept = default;
  queue_claim& operator=(queue_claim&& other) noexcept;
  ~queue_claim();

  const std::string& data() const;
  const std::string& name() const;
  int priority() const;
  int attempts() const;  // how often it was claimed, this time included

  // Removes the item. Throws errc::lock_lost if the claim was lost, or completed or given back
  // before: then somebody else may work on it, or has. Throws errc::session_expired if that cannot
  // be told; any other error if the item may not be removed, which then is given back. In either
  // case there is nothing to repeat.
  void complete();
  // void(error_code).
  template <class Token>
  auto async_complete(Token&& token);
  // Returns at once: it is sent, and repeated until the server has confirmed it or the session is
  // over.
  void give_back() noexcept;

  // fencing_token(), held(), remaining(), lost(), node(), fenced(): as of a lock.
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

inline std::vector<std::string> one(std::string data) {
  std::vector<std::string> items;
  items.push_back(std::move(data));
  return items;
}
}  // namespace detail

class queue {
 public:
  // Throws errc::invalid_path. Nothing is sent yet.
  queue(client& c, std::string path, queue_options options = {});
  // Pushes that were sent are still repeated if they must be. Calls that wait in it end with
  // operation_aborted. Claims live on.
  ~queue();
  queue(const queue&) = delete;
  queue& operator=(const queue&) = delete;

  // --- producing

  // Several items are pushed in one transaction, next to one another: all of them or none. Pushes
  // of several callers may go in one transaction, too. Throws errc::invalid_argument for a
  // priority that the layout does not have.
  void push(std::string data, int priority = default_priority);
  void push(std::vector<std::string> items, int priority = default_priority);
  void push(std::initializer_list<std::string> items, int priority = default_priority) {
    push(std::vector<std::string>{items}, priority);
  }
  // False if there is no room, or others of this object wait for it (or the time is up before there
  // is any): nothing was pushed. Only with a capacity. A call whose items are just being pushed
  // waits for the outcome of that, even if its time is up.
  bool try_push(std::string data, int priority = default_priority);
  bool try_push(std::vector<std::string> items, int priority = default_priority);
  bool try_push(std::initializer_list<std::string> items, int priority = default_priority) {
    return try_push(std::vector<std::string>{items}, priority);
  }
  template <class Rep, class Period>
  bool push_for(const std::chrono::duration<Rep, Period>& d, std::string data,
                int priority = default_priority) {
    return push_before(detail::one(std::move(data)), priority, detail::deadline_after(d));
  }
  template <class Rep, class Period>
  bool push_for(const std::chrono::duration<Rep, Period>& d, std::vector<std::string> items,
                int priority = default_priority) {
    return push_before(std::move(items), priority, detail::deadline_after(d));
  }
  template <class Rep, class Period>
  bool push_for(const std::chrono::duration<Rep, Period>& d,
                std::initializer_list<std::string> items, int priority = default_priority) {
    return push_for(d, std::vector<std::string>{items}, priority);
  }
  // void(error_code, bool): true unless cancelled while the queue was full.
  template <class Token>
  auto async_push(std::string data, int priority, Token&& token) {
    return async_push(detail::one(std::move(data)), priority, std::forward<Token>(token));
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

  // --- looking

  // The first item, which stays where it is; none if there is none. Of items that are claimed too.
  std::optional<queue_item> front();
  // void(error_code, std::optional<queue_item>).
  template <class Token>
  auto async_front(Token&& token) {
    return detail::initiate<std::optional<queue_item>>(state_, &detail::start_front,
                                                       std::forward<Token>(token));
  }
  // How many children the items' node has, without what Conclave itself keeps there: a small read
  // or two, so what others may have put there that is no item counts, too. names().size() does not
  // count that.
  std::size_t size() const;
  bool empty() const { return size() == 0; }
  // The items' names, in order; client::get(item_path(name)) has the data.
  std::vector<std::string> names() const;
  std::string item_path(const std::string& name) const;

  // --- popping; errc::invalid_argument with a layout that is for claiming only

  queue_item pop();
  // None if the stop was requested, or the time was up, before there was an item. A call whose item
  // is just being removed waits for the outcome of that.
  std::optional<queue_item> pop(std::stop_token stop);
  std::optional<queue_item> try_pop();
  template <class Rep, class Period>
  std::optional<queue_item> pop_for(const std::chrono::duration<Rep, Period>& d) {
    return pop_before(detail::deadline_after(d));
  }
  template <class Clock, class Duration>
  std::optional<queue_item> pop_until(const std::chrono::time_point<Clock, Duration>& t) {
    return pop_before(detail::deadline_at(t));
  }
  // void(error_code, std::optional<queue_item>), the item always there unless there is an error.
  // Many at once are removed in one transaction. Cancelling is as pop(stop).
  template <class Token>
  auto async_pop(Token&& token) {
    return detail::initiate<std::optional<queue_item>>(
        state_, &detail::start_pop, std::forward<Token>(token), detail::no_deadline);
  }
  // None if there was no item in time. A duration of zero or less is try_pop().
  template <class Rep, class Period, class Token>
  auto async_pop_for(const std::chrono::duration<Rep, Period>& d, Token&& token) {
    return detail::initiate<std::optional<queue_item>>(
        state_, &detail::start_pop, std::forward<Token>(token), detail::deadline_after(d));
  }

  // --- claiming

  queue_claim claim();
  // None as for pop(stop).
  std::optional<queue_claim> claim(std::stop_token stop);
  std::optional<queue_claim> try_claim();
  template <class Rep, class Period>
  std::optional<queue_claim> claim_for(const std::chrono::duration<Rep, Period>& d) {
    return claim_before(detail::deadline_after(d));
  }
  // void(error_code, std::optional<queue_claim>), as async_pop.
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

  // Items that failed too often (queue_options::max_attempts), by name.
  std::vector<queue_item> set_aside() const;
  // Puts one of them back, by its name, at the end of the queue: as it was set aside, with no
  // attempts counted. errc::no_node if it is not there any more.
  void restore(const queue_item& item);
  // Removes one of them, by its name; nothing happens if it is not there any more.
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
