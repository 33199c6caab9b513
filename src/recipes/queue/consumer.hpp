// Acquires items of a queue for its callers, by popping or by claiming them.
//
// A consumer lists the queue once and works through this listing (item_plan). If other consumers
// are active, it acquires only its share of the items (consumer_share). A consumer that finds no
// items enters a wait queue, and only the first consumer of that wait queue watches the queue.
//
// All members must be called inside a session_context::scope.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recipes/queue/callers.hpp"
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
  consumer(std::shared_ptr<session_context> context, std::shared_ptr<const queue_names> names,
           options o);

  const queue_names& names() const noexcept { return *names_; }
  const options& configuration() const noexcept { return options_; }

  using acquired_item = recipes::acquired_item;
  using caller = queue_caller;
  using caller_ptr = recipes::caller_ptr;
  void acquire(const caller_ptr& who);
  // Completes the call with `why` and without an item. But if an item is already being acquired for
  // the call, the call completes with that item, or with `why` if the item is not acquired.
  void give_up(const caller_ptr& who, error_code why);
  // Completes all waiting calls with `why`. Later calls complete with ECANCELED.
  void close(error_code why);
  bool is_closed() const noexcept { return phase_ == phase::closing; }

  // Several queue objects (users) can share a consumer. The consumer is closed when its last user
  // is removed.
  std::shared_ptr<queue_user> add_user();
  // Completes all waiting calls of this user (caller::user) with `why`. But if an item is already
  // being acquired for a call, the call completes as after give_up().
  void remove_user(const std::shared_ptr<queue_user>& user, error_code why);

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
    checking,            // checks for items that the first consumer of the wait queue has missed
    listing,
    acquiring,  // removes or claims planned items
    closing,    // removes the consumer's nodes
  };
  phase next_phase();
  task<> run();
  task<> list_for_others();
  task<> list_for_callers();
  task<> check_for_items();
  task<> acquire_items();

  // Lists the queue and plans which items to remove or claim.
  task<error_code> list_items();
  // Adds the number of consumers to the listing, and their names if these are needed to divide the
  // items.
  task<error_code> learn_consumers(queue_listing::result& listed, std::size_t items);
  queue_listing::consumers consumers_to_list() const;
  void plan(std::vector<item_name> items, queue_listing::result listed);
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
  void set_too_large(const std::string& item);

  // --- callers

  void complete(const caller_ptr& who, error_code ec, std::optional<acquired_item> what = {});
  void complete_all(error_code ec);
  void complete_callers_that_do_not_wait();
  // Must be called if the item that was reserved for a caller was not acquired. Puts the caller
  // back at the front of the waiting callers. If the caller has given up meanwhile, or its user was
  // removed, completes the call instead.
  void wait_again(const caller_ptr& who);

  std::shared_ptr<session_context> context_;
  std::shared_ptr<const queue_names> names_;
  options options_;
  counted_transactions transactions_;
  wait_queue_entry wait_entry_;
  queue_listing listing_;
  items_folder folder_;
  item_plan plan_;
  consumer_share share_;
  std::size_t consumer_count_ = 0;  // at the last listing
  waiting_callers callers_;         // except those for which an item is being acquired
  std::size_t users_ = 0;
  // The zxid at which a consumer last left the first position of the wait queue, as of this
  // consumer's last check.
  std::int64_t expected_lister_ = 0;
  bool others_wait_ = false;  // other consumers are behind this one in the wait queue
  phase phase_ = phase::not_started;
  wakeup changed_;
  task<> run_;  // declared last: destroyed before the members it uses
};

}  // namespace conclave::recipes
