// The watchers of one path, each once, in the order in which they were added.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "conclave/watch.hpp"

namespace conclave::session {

// Who has set a watch: the program, or a lock, queue or election of the library. A program that
// removes all watches of a path must not remove those of the library.
enum class watch_owner { program, library };

// Most paths have one watcher. But all readers behind one writer, and all observers of one
// election, watch the same node. If each addition and removal searched all watchers, the total cost
// would grow with the square of their number.
class watcher_list {
 public:
  // No effect if w is already there.
  void add(const watcher& w, watch_owner owner = watch_owner::program) {
    if (find(w) != not_found) return;
    if (positions_) positions_->emplace(w, entries_.size());
    entries_.push_back({w, owner});
    if (!positions_ && entries_.size() > searched) index();
  }

  // Returns false if w is not there.
  bool remove(const watcher& w) {
    const auto at = find(w);
    if (at == not_found) return false;
    if (!positions_) {
      entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at));
      return true;
    }
    positions_->erase(w);
    entries_[at] = {};
    if (positions_->size() < entries_.size() / 2) compact();
    return true;
  }

  // Removes the watchers of the program and returns them, in order.
  std::vector<watcher> remove_all_of_program() {
    std::vector<watcher> removed;
    for (auto& each : entries_)
      if (each.owner == watch_owner::program && each.called)
        removed.push_back(std::exchange(each.called, {}));
    if (!removed.empty()) compact();
    return removed;
  }

  bool empty() const noexcept { return size() == 0; }
  std::size_t size() const noexcept { return positions_ ? positions_->size() : entries_.size(); }

  // Calls f(watcher) for each, in order.
  template <class F>
  void for_each(F&& f) const {
    for (const auto& each : entries_)
      if (each.called) f(each.called);
  }

 private:
  struct entry {
    watcher called;
    watch_owner owner = watch_owner::program;
  };
  using position_map = std::unordered_map<watcher, std::size_t, watcher::hash>;
  static constexpr std::size_t searched = 16;  // above this, there is an index
  static constexpr std::size_t not_found = static_cast<std::size_t>(-1);

  std::size_t find(const watcher& w) const {
    if (positions_) {
      const auto found = positions_->find(w);
      return found == positions_->end() ? not_found : found->second;
    }
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const entry& each) { return each.called == w; });
    return found == entries_.end() ? not_found : static_cast<std::size_t>(found - entries_.begin());
  }

  void index() {
    positions_ = std::make_unique<position_map>();
    for (std::size_t i = 0; i < entries_.size(); ++i) positions_->emplace(entries_[i].called, i);
  }

  void compact() {
    std::erase_if(entries_, [](const entry& each) { return !each.called; });
    positions_.reset();
    if (entries_.size() > searched) index();
  }

  std::vector<entry> entries_;               // with an index, removed watchers are empty
  std::unique_ptr<position_map> positions_;  // null if there are few
};

}  // namespace conclave::session
