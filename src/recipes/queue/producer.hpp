// Adds items to a queue. Only one transaction is pending at a time. Pushes that arrive meanwhile
// share the next one.
//
// All members are called inside a session_context::scope.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recipes/queue/counted_transactions.hpp"
#include "recipes/queue/names.hpp"
#include "recipes/queue/wait_queue_entry.hpp"
#include "recipes/queue/watch_registration.hpp"
#include "recipes/wakeup.hpp"

namespace conclave::recipes {

class producer : public std::enable_shared_from_this<producer> {
 public:
  producer(std::shared_ptr<session_context> p, std::shared_ptr<const queue_names> names,
           std::size_t capacity, std::size_t max_request_bytes);

  struct pushing {
    // Called once, outside of the session_context::scope. No error: the items are in the queue.
    // errc::taken: the queue is full and the push does not wait.
    std::function<void(error_code)> tell;
    std::vector<std::string> items;
    int priority = 0;
    bool patient = true;
  };
  using pushing_ptr = std::shared_ptr<pushing>;

  void push(const pushing_ptr& what);
  // Completes the push with `why`, unless it is already sent: then it completes with its outcome.
  void give_up(const pushing_ptr& what, error_code why);
  // Fails all waiting pushes with `why`. Later pushes fail with ECANCELED.
  void close(error_code why);

 private:
  task<> run();
  task<error_code> wait_for_room();
  struct count {
    error_code ec;
    std::size_t items = 0;
  };
  task<count> count_items();
  bool has_room(std::size_t items) const;
  task<error_code> watch_for_room();
  void leave_wait_queue();
  task<> send();
  void answer(const pushing_ptr& what, error_code ec);
  bool fits(const pushing& what) const;
  std::size_t size_in_request(const pushing& what) const;

  std::shared_ptr<session_context> context_;
  std::shared_ptr<const queue_names> names_;
  std::size_t capacity_;
  std::size_t max_request_bytes_;
  counted_transactions transactions_;
  wait_queue_entry wait_entry_;  // in the wait queue of producers that wait for capacity
  std::deque<pushing_ptr> waiting_;
  watch_registration watch_;  // on the folder of the items
  // From the last listing: the number of children that are not items, and the folder's cversion.
  std::size_t strangers_ = 0;
  std::optional<std::int32_t> listed_at_;
  bool closing_ = false;
  bool started_ = false;
  wakeup changed_;
  task<> run_;
};

}  // namespace conclave::recipes
