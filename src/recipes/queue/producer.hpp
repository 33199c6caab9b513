// How items get into a queue. One transaction is under way at a time; what is pushed meanwhile goes
// into the next one, together.
//
// All members are called inside a session_context::scope.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recipes/queue/counted.hpp"
#include "recipes/queue/kept_watch.hpp"
#include "recipes/queue/names.hpp"
#include "recipes/queue/turn.hpp"
#include "recipes/wakeup.hpp"

namespace conclave::recipes {

class producer : public std::enable_shared_from_this<producer> {
 public:
  producer(std::shared_ptr<session_context> p, std::shared_ptr<const queue_names> names,
           std::size_t capacity, std::size_t max_request_bytes);

  struct pushing {
    // Told once, outside of the scope: no error means that they are in the queue; errc::taken, that
    // it is full and we were not to wait.
    std::function<void(error_code)> tell;
    std::vector<std::string> items;
    int priority = 0;
    bool patient = true;
  };
  using pushing_ptr = std::shared_ptr<pushing>;

  void push(const pushing_ptr& what);
  // Unless it is under way: then its outcome will be told.
  void give_up(const pushing_ptr& what, error_code why);
  // Nothing comes any more.
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
  void end_turn();
  void stir() { news_.notify(); }
  task<> send();
  void answer(const pushing_ptr& what, error_code ec);
  bool fits(const pushing& what) const;
  std::size_t size_in_request(const pushing& what) const;

  std::shared_ptr<session_context> context_;
  std::shared_ptr<const queue_names> names_;
  std::size_t capacity_;
  std::size_t max_request_bytes_;
  counted_transactions transactions_;
  turn turn_;  // among producers that wait for room
  std::deque<pushing_ptr> waiting_;
  kept_watch watch_;  // on the folder of the items
  // Of the last listing: how many children were no items, and how old the folder was.
  std::size_t strangers_ = 0;
  std::optional<std::int32_t> listed_at_;
  bool closing_ = false;
  bool started_ = false;
  wakeup news_;
  task<> run_;
};

}  // namespace conclave::recipes
