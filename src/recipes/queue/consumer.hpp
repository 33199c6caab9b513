// Gets items from a queue for its callers, by popping or by claiming them.
//
// A consumer lists the queue once and works through this listing. It reads the data of the next
// items while it removes or claims the current ones. Data is valid only in the folder in which it
// was read (folder_identity). After a time without callers it is read again.
//
// If other consumers are active, each consumer keeps to its share of the sequence numbers. So they
// do not compete for every item. This continues while the other consumers make progress. A consumer
// that finds no items enters a wait queue, and only the first consumer of that wait queue
// watches the queue.
//
// All members are called inside a session_context::scope.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "conclave/queue.hpp"
#include "recipes/queue/claim.hpp"
#include "recipes/queue/counted_transactions.hpp"
#include "recipes/queue/folder_identity.hpp"
#include "recipes/queue/names.hpp"
#include "recipes/queue/wait_queue_entry.hpp"
#include "recipes/queue/watch_registration.hpp"
#include "recipes/wakeup.hpp"

namespace conclave::recipes {

class consumer : public std::enable_shared_from_this<consumer> {
 public:
  enum class way { pops, claims };
  struct terms {
    consumer::way way = way::pops;
    int max_attempts = 0;
    std::string owner;
  };
  consumer(std::shared_ptr<session_context> p, std::shared_ptr<const queue_names> names, terms t);

  struct taken {
    queue_item item;                        // if popped
    std::shared_ptr<recipes::claim> claim;  // if claimed
  };
  // A call that wants an item. `tell` is called once, outside of the session_context::scope.
  // Without an error and without an item, the queue was empty and the call does not wait.
  struct caller {
    std::function<void(error_code, std::optional<taken>)> tell;
    bool patient = true;
    std::optional<error_code> gave_up;  // set while an item is being acquired for it
  };
  using caller_ptr = std::shared_ptr<caller>;

  void take(const caller_ptr& who);
  // Completes the call with `why` and without an item. If an item is being acquired for the call,
  // the call gets the item if that succeeds, and `why` otherwise.
  void give_up(const caller_ptr& who, error_code why);
  void close(error_code why);

 private:
  struct candidate {
    item_name name;
    std::optional<pending_reply<get_result>> asked;
    std::optional<get_result> read;
    std::uint64_t asked_in = 0;  // the value of busy_period_ at that time
  };

  task<> run();
  task<error_code> look();
  task<error_code> identify_folder(const node_stat& stat);
  void plan(std::vector<item_name> all, std::vector<std::string> consumers);
  task<error_code> read_ahead(std::size_t needed);
  task<error_code> pop_some();
  // Called when no caller waits. Other consumers may change the queue unnoticed. So data that was
  // read is kept for a short time only and read again before it is used.
  void begin_pause();
  void drop_data_later();
  // As far as is known, the data was read in the folder that exists now.
  bool reads_are_valid() const {
    return folder_czxid_ != 0 && (!identity_.needed() || identity_.established());
  }
  bool outlived_its_call(const candidate& c) const { return c.asked_in != busy_period_; }
  task<error_code> claim_some();
  task<error_code> put_aside(const candidate& c);
  void claim_one(candidate c, caller_ptr who);
  // Sets this watch and returns its watcher.
  watcher watch(watch_registration& which);
  void folder_changed();
  bool watching() const {
    return items_watch_.is_set() && (terms_.way == way::pops || claims_watch_.is_set());
  }
  void stir();
  void ask_for_data(std::size_t from, std::size_t to);
  void leave_wait_queue();
  void others_are_here();
  void answer(const caller_ptr& who, error_code ec, std::optional<taken> what = {});
  void answer_all(error_code ec);
  void wait_on(const caller_ptr& who);
  bool somebody_is_impatient() const;
  std::vector<caller_ptr> next_callers(std::size_t n);

  template <class Result>
  pending_reply<Result> send(requests::request<Result> r) {
    return recipes::send(context_, shared_from_this(), std::move(r));
  }

  std::shared_ptr<session_context> context_;
  std::shared_ptr<const queue_names> names_;
  terms terms_;
  counted_transactions transactions_;
  wait_queue_entry wait_entry_;
  std::deque<caller_ptr> waiting_;
  std::deque<candidate> plan_;
  std::size_t left_of_pass_ = 0;  // items left before the queue is listed again
  bool shares_ = false;           // other consumers are active
  // The names of items that are too large for the transactions of a claim, and the czxid of the
  // folder they are in. 0: not known.
  std::set<std::string, std::less<>> too_large_;
  std::int64_t folder_czxid_ = 0;
  folder_identity identity_;
  // From the last listing: the lowest number of our share, the highest number of all, and the
  // number of items of others.
  std::uint32_t own_lowest_ = 0;
  std::uint32_t highest_ = 0;
  std::size_t foreign_ = 0;
  // Watches on the children of the items' folder, on the children of the claims' folder, and on the
  // items' folder itself.
  watch_registration items_watch_;
  watch_registration claims_watch_;
  watch_registration folder_watch_;
  std::uint64_t busy_period_ = 0;  // incremented whenever no caller is left
  std::optional<time_point> paused_at_;
  bool drop_is_planned_ = false;
  bool others_wait_ = false;  // behind this consumer, in the wait queue
  bool stirred_ = false;
  bool outdated_ = false;  // the plan must be dropped
  bool closing_ = false;
  bool started_ = false;
  wakeup changed_;
  task<> run_;
};

}  // namespace conclave::recipes
