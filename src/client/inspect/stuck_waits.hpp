// Computes which waits of an inspection cannot end, and why.
//
// The computation starts with the assumption that no wait ends and no holder releases. It then
// drops every assumption that the nodes do not support: a wait that nothing blocks ends, and a
// holder without such a wait releases. The waits that remain depend only on each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "conclave/wait_graph.hpp"

namespace conclave::client_impl {

class stuck_waits {
 public:
  using place = wait_graph::place;
  // With `certain`, a wait or a link counts only if the nodes prove it. With `possible`, it counts
  // unless the nodes disprove it.
  enum class level { certain, possible };

  // `seen` must outlive this object.
  stuck_waits(const inspection& seen, level l);

  // The contenders are numbered in the order of the inspection.
  std::size_t size() const noexcept { return all_.size(); }
  place place_of(std::size_t i) const { return all_[i].at; }
  std::size_t index_of(place p) const { return first_[p.recipe] + p.contender; }

  // Returns true if this contender waits and its wait cannot end.
  bool is_stuck(std::size_t i) const { return all_[i].is_stuck; }

  struct cause {
    std::size_t blocker;  // the contender that does not leave
    std::size_t wait;     // the stuck wait of its task
    bool certain;         // it is certainly a wait of that task
  };
  // The causes of a stuck wait: one for a lock, and one for each permit of a semaphore. Together
  // they prove that the wait cannot end.
  std::vector<cause> causes_of(std::size_t wait) const;

  // All waits of the task that owns this contender, except the contender itself.
  std::vector<wait_graph::link> links_of(std::size_t contender) const;

 private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  struct entry {
    place at;
    const contender_info* info = nullptr;
    bool is_open = false;                           // it may be a wait of any task of its session
    bool is_stuck = false;                          // it waits, and the wait cannot end
    bool stays = false;                             // the node is not removed
    std::size_t acquisition = none;                 // its own
    std::vector<std::size_t> listed, maybe_listed;  // acquisitions whose lock this waiter holds
  };
  // The nodes with one id: one node, or those of a multi_mutex.
  struct acquisition {
    std::vector<std::size_t> waits, possible_waits;  // of the task that owns it
    std::size_t stuck = 0, possible_stuck = 0;       // how many of these are stuck
    const contender_info* first = nullptr;
    bool is_ambiguous = false;  // different acquisitions have this id, so it proves nothing
  };
  struct session_waits {
    std::vector<std::size_t> open;
    std::size_t stuck = 0;
  };
  // The sessions of the contenders ahead of a waiter that stay.
  class blocking_sessions {
   public:
    void add(std::int64_t session) {
      several_ = several_ || (any_ && session != first_);
      if (!any_) first_ = session;
      any_ = true;
    }
    bool block(const entry& waiter) const {
      return several_ || (any_ && !(waiter.is_open && first_ == waiter.info->session_id));
    }

   private:
    bool any_ = false, several_ = false;
    std::int64_t first_ = 0;
  };

  void add_contenders();
  void add_acquisitions();
  void add_links();
  bool may_be_refused(std::size_t recipe) const;
  bool find_who_stays();
  bool end_waits_of_lock(std::size_t recipe);
  bool end_waits_of_semaphore(std::size_t recipe);
  void end_wait(entry& e);
  bool may_block(const entry& blocker, const entry& waiter) const;
  std::size_t permits_for(const recipe_info& r, const entry& waiter) const;
  std::size_t first_stuck(const std::vector<std::size_t>& waits) const;
  cause cause_of(std::size_t blocker) const;

  const inspection& seen_;
  const level level_;
  std::vector<entry> all_;
  std::vector<std::size_t> first_;  // the number of the first contender of each recipe
  std::vector<acquisition> acquisitions_;
  std::unordered_map<std::string, std::size_t> by_id_;
  std::unordered_map<std::int64_t, session_waits> by_session_;
};

// Returns true if contenders of this recipe wait for each other.
bool is_in_wait_graph(const recipe_info& r) noexcept;
// Returns true if a waiter of a lock waits for this contender ahead of it.
inline bool conflict(const contender_info& ahead, const contender_info& waiter) noexcept {
  return waiter.role != layout::role::reader || ahead.role != layout::role::reader;
}

}  // namespace conclave::client_impl
