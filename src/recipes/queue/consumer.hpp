// How items get out of a queue, popped or claimed.
//
// A consumer lists the queue once and then works through what it saw: it asks for the data of the
// next items while it takes the ones before them. Data that was read is bound to the folder that it
// was read in (folder_identity), and not trusted any more once nobody has waited. One that finds
// that others take them, too, keeps to its share of them, by their numbers, so that they do not
// fight for each; as long as the others get on. One that finds nothing gets into a line, and only
// the first of that line watches the queue.
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
#include "recipes/queue/counted.hpp"
#include "recipes/queue/folder_identity.hpp"
#include "recipes/queue/kept_watch.hpp"
#include "recipes/queue/names.hpp"
#include "recipes/queue/turn.hpp"
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
    queue_item item;                        // popped
    std::shared_ptr<recipes::claim> claim;  // or claimed
  };
  // Somebody who wants an item. Told once, outside of the scope: what it got, or nothing if there
  // was nothing and it was not to wait.
  struct caller {
    std::function<void(error_code, std::optional<taken>)> tell;
    bool patient = true;
    std::optional<error_code> gave_up;  // while an item was being taken for it
  };
  using caller_ptr = std::shared_ptr<caller>;

  void take(const caller_ptr& who);
  // Told `why`, and nothing; unless an item is just being taken for it, and is had.
  void give_up(const caller_ptr& who, error_code why);
  void close(error_code why);

 private:
  struct candidate {
    item_name name;
    std::optional<pending_reply<get_result>> asked;
    std::optional<get_result> read;
    std::uint64_t asked_in = 0;  // as busy_period_ was then
  };

  task<> run();
  task<error_code> look();
  task<error_code> identify_folder(const node_stat& stat);
  void plan(std::vector<item_name> all, std::vector<std::string> consumers);
  task<error_code> read_ahead(std::size_t needed);
  task<error_code> pop_some();
  // Nobody waits: others may change the queue unseen, so data is kept only for a short time, and
  // read again before it is used.
  void begin_pause();
  void drop_data_later();
  // What was read is that of the folder that is there, as far as we know.
  bool reads_are_valid() const {
    return folder_czxid_ != 0 && (!identity_.needed() || identity_.established());
  }
  bool outlived_its_call(const candidate& c) const { return c.asked_in != busy_period_; }
  task<error_code> claim_some();
  task<error_code> put_aside(const candidate& c);
  void claim_one(candidate c, caller_ptr who);
  // Sets the watch that is kept there.
  watcher watch(kept_watch consumer::*which);
  void folder_changed();
  bool watching() const { return items_watch_ && (terms_.way == way::pops || taken_watch_); }
  void stir();
  void ask_for_data(std::size_t from, std::size_t to);
  void end_turn();
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
  turn turn_;
  std::deque<caller_ptr> waiting_;
  std::deque<candidate> plan_;
  std::size_t left_of_pass_ = 0;  // items to take before the queue is listed again
  bool shares_ = false;           // others take items, too
  // Items that are too large for the transactions of a claim, and in which folder.
  std::set<std::string, std::less<>> too_large_;
  std::int64_t folder_czxid_ = 0;
  folder_identity identity_;
  // Of the last listing: our own first item, the last one of all, and how many were not ours.
  std::uint32_t own_lowest_ = 0;
  std::uint32_t highest_ = 0;
  std::size_t foreign_ = 0;
  // On the children of the folder of the items and of that of the claims, and on the former itself.
  kept_watch items_watch_;
  kept_watch taken_watch_;
  kept_watch folder_watch_;
  std::uint64_t busy_period_ = 0;  // counts times in which somebody waits
  std::optional<time_point> paused_at_;
  bool drop_is_planned_ = false;
  bool others_wait_ = false;  // behind us in the line
  bool stirred_ = false;
  bool outdated_ = false;  // the plan
  bool closing_ = false;
  bool started_ = false;
  wakeup news_;
  task<> run_;
};

}  // namespace conclave::recipes
