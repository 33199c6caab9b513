// Adds items to a queue. Only one transaction is pending at a time. Pushes that arrive while it is
// pending share the next one. With a capacity, producers that find the queue full enter a wait
// queue, and only the first producer of that wait queue watches the queue.
//
// All members must be called inside a session_context::scope.
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
  producer(std::shared_ptr<session_context> context, std::shared_ptr<const queue_names> names,
           std::size_t capacity, std::size_t max_request_bytes);

  struct push_request {
    // Called once, outside of the session_context::scope. If it receives no error, the items are in
    // the queue. errc::lock_busy means that the queue is full and the push does not wait.
    std::function<void(error_code)> complete;
    std::vector<std::string> items;
    int priority = 0;
    bool waits = true;  // whether the push waits for capacity
    // The error if the caller gave up after the push was sent. Used if the push had no effect.
    error_code gave_up_with{};
    time_point called{};  // set only if calls are counted
  };
  using request_ptr = std::shared_ptr<push_request>;

  void push(const request_ptr& r);
  // Completes the push with `why`. A push that was already sent completes with its outcome instead.
  void give_up(const request_ptr& r, error_code why);
  // Completes all waiting pushes with `why`. Later pushes complete with ECANCELED.
  void close(error_code why);

 private:
  // The producer awaits events only in the phases `idle` and `waiting_for_capacity`. In every
  // phase, callers may push or give up, the producer may be closed, and its position in the wait
  // queue may change.
  enum class phase {
    not_started,
    idle,                  // no push waits
    waiting_for_capacity,  // until an item is removed or all callers give up
    sending,
    closing,  // removes the producer's nodes
  };
  task<> run();
  task<> send();
  void send_again(const std::vector<request_ptr>& sent);

  // --- capacity

  task<error_code> wait_for_capacity();
  struct item_count {
    error_code ec;
    std::size_t items = 0;
  };
  task<item_count> count_items();
  task<item_count> list_items();
  bool has_capacity(std::size_t items) const;
  task<error_code> set_watch();
  void leave_wait_queue();

  // --- size limits

  bool fits(const push_request& r) const;
  std::size_t size_in_request(const push_request& r) const;

  void complete(const request_ptr& r, error_code ec);
  void complete_all(error_code ec);

  std::shared_ptr<session_context> context_;
  std::shared_ptr<const queue_names> names_;
  std::size_t capacity_;
  std::size_t max_request_bytes_;
  // The largest size of a transaction with several pushes. Reduced if the server accepts less.
  std::size_t most_bytes_ = std::size_t{256} * 1024;
  counted_transactions transactions_;
  wait_queue_entry wait_entry_;
  std::deque<request_ptr> requests_;  // not sent yet
  watch_registration watch_;          // on the items' folder and its children
  // The number of children that are not items, and the folder's cversion, both as of the last
  // listing.
  std::size_t foreign_children_ = 0;
  std::optional<std::int32_t> listed_cversion_;
  phase phase_ = phase::not_started;
  wakeup changed_;
  task<> run_;  // declared last: destroyed before the members it uses
};

}  // namespace conclave::recipes
