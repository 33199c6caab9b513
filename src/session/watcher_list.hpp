// The watchers of one path, each once, in the order in which they were added.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "conclave/watch.hpp"

namespace conclave::session {

// Most paths have one watcher. But all readers behind one writer, and all observers of one
// election, watch the same node. If each addition and removal searched all watchers, the total cost
// would grow with the square of their number.
class watcher_list {
 public:
  // No effect if w is already there.
  void add(const watcher& w) {
    if (find(w) != not_found) return;
    if (positions_) positions_->emplace(w, entries_.size());
    entries_.push_back(w);
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

  bool empty() const noexcept { return size() == 0; }
  std::size_t size() const noexcept { return positions_ ? positions_->size() : entries_.size(); }

  // Calls f(watcher) for each, in order.
  template <class F>
  void for_each(F&& f) const {
    for (const auto& w : entries_)
      if (w) f(w);
  }

 private:
  using position_map = std::unordered_map<watcher, std::size_t, watcher::hash>;
  static constexpr std::size_t searched = 16;  // above this, there is an index
  static constexpr std::size_t not_found = static_cast<std::size_t>(-1);

  std::size_t find(const watcher& w) const {
    if (positions_) {
      const auto found = positions_->find(w);
      return found == positions_->end() ? not_found : found->second;
    }
    const auto found = std::find(entries_.begin(), entries_.end(), w);
    return found == entries_.end() ? not_found : static_cast<std::size_t>(found - entries_.begin());
  }

  void index() {
    positions_ = std::make_unique<position_map>();
    for (std::size_t i = 0; i < entries_.size(); ++i) positions_->emplace(entries_[i], i);
  }

  void compact() {
    std::erase_if(entries_, [](const watcher& w) { return !w; });
    positions_.reset();
    if (entries_.size() > searched) index();
  }

  std::vector<watcher> entries_;             // with an index, removed watchers are empty
  std::unique_ptr<position_map> positions_;  // null if there are few
};

}  // namespace conclave::session
