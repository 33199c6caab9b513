// Acquires items of a queue for its callers, by popping or by claiming them.
//
// A consumer lists the queue once and works through this listing (item_plan). If other consumers
// are active, it acquires only its share of the items (consumer_share). A consumer that finds no
// items enters a wait queue, and only the first consumer of that wait queue watches the queue.
//
// All members are called inside a session_context::scope.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conclave/queue_item.hpp"
#include "recipes/queue/claim.hpp"
#include "recipes/queue/consumer_share.hpp"
#include "recipes/queue/counted_transactions.hpp"
#include "recipes/queue/item_plan.hpp"
#include "recipes/queue/items_folder.hpp"
#include "recipes/queue/names.hpp"
#include "recipes/queue/queue_listing.hpp"
#include "recipes/queue/wait_queue_entry.hpp"
#include "recipes/wakeup.hpp"

namespace conclave::recipes {

class consumer : public std::enable_shared_from_this<consumer> {
 public:
  enum class mode { pop, claim };
  struct options {
    consumer::mode mode = mode::pop;
    int max_attempts = 0;  // see queue_options::max_attempts
    std::string owner;     // see queue_options::owner
  };
  consumer(std::shared_ptr<session_context> p, std::shared_ptr<const queue_names> names, options o);

  struct acquired_item {
    queue_item item;                        // set with mode::pop
    std::shared_ptr<recipes::claim> claim;  // set with mode::claim
  };
  // A call that wants an item. `complete` is called once, outside of the session_context::scope. If
  // it gets neither an error nor an item, the queue was empty and the call does not wait.
  struct caller {
    std::function<void(error_code, std::optional<acquired_item>)> complete;
    bool waits = true;
    std::optional<error_code> gave_up_with;  // set if the caller gave up while its item is acquired
  };
  using caller_ptr = std::shared_ptr<caller>;

  void acquire(const caller_ptr& who);
  // Completes the call with `why` and without an item. If an item is already being acquired for the
  // call, the call gets that item, or `why` if the attempt fails.
  void give_up(const caller_ptr& who, error_code why);
  // Completes all waiting calls with `why`. Later calls complete with ECANCELED.
  void close(error_code why);

 private:
  // The consumer awaits events only in the phases `idle` and `waiting`. In all other phases it
  // awaits replies. Those phases end at the latest when the session ends. In every phase
  // - callers may arrive or give up,
  // - the consumer may be closed,
  // - the position in the wait queue may change,
  // - the plan may become outdated.
  enum class phase {
    not_started,
    idle,                // no caller waits
    listing_for_others,  // no caller waits, but consumers behind this one rely on its watches
    waiting,             // waits until a watch fires or its position in the wait queue changes
    listing,
    acquiring,  // removes or claims planned items
    closing,    // removes the consumer's nodes
  };
  phase next_phase();
  task<> run();
  task<> list_for_others();
  task<> list_for_callers();
  task<> acquire_items();

  // Lists the queue and plans which items to remove or claim.
  task<error_code> list_items();
  void leave_wait_queue();
  // Must be called if another consumer has removed or claimed an item of the plan.
  void found_other_consumers();
  task<error_code> read_items(std::size_t n);

  // --- popping (consumer_pop.cpp)

  task<error_code> pop_items();
  using rereads = std::vector<std::optional<pending_reply<get_result>>>;
  task<> deliver_popped(const std::vector<caller_ptr>& callers, const rereads& again);

  // --- claiming (consumer_claim.cpp)

  task<error_code> claim_items();
  void begin_claim(planned_item item, caller_ptr who);
  void claim_failed(const recipes::claim& c, const caller_ptr& who, error_code ec);
  task<error_code> set_aside(const planned_item& item);

  // --- callers

  void complete(const caller_ptr& who, error_code ec, std::optional<acquired_item> what = {});
  void complete_all(error_code ec);
  void complete_callers_that_do_not_wait();
  // Puts a caller that did not get its reserved item back at the front of the waiting callers. If
  // the caller has given up meanwhile, completes the call.
  void wait_again(const caller_ptr& who);
  bool has_caller_that_does_not_wait() const;
  std::vector<caller_ptr> remove_first_callers(std::size_t n);

  std::shared_ptr<session_context> context_;
  std::shared_ptr<const queue_names> names_;
  options options_;
  counted_transactions transactions_;
  wait_queue_entry wait_entry_;
  queue_listing listing_;
  items_folder folder_;
  item_plan plan_;
  consumer_share share_;
  std::deque<caller_ptr> callers_;  // except those for which an item is being acquired
  bool others_wait_ = false;        // other consumers are behind this one in the wait queue
  phase phase_ = phase::not_started;
  wakeup changed_;
  task<> run_;  // declared last: destroyed before the members it uses
};

}  // namespace conclave::recipes
