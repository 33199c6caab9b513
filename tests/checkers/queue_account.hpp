// Checks that every pushed item is delivered exactly once. Unknown outcomes are allowed and
// counted, because a history that has only unknown outcomes tests nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "checker.hpp"

namespace conclave::checkers {

class queue_account : public checker {
 public:
  using checker::checker;
  enum class fate { done, refused, unknown };

  void pushed(std::string_view item, fate f);
  void delivered(std::string_view item);
  // The consumer does not know whether it completed this item.
  void delivery_unknown(std::string_view item);
  // The consumer does not know whether it popped an item, or which one.
  void pop_outcome_unknown() { ++lost_; }

  // Must be called at the end, when the queue is empty. Reports missing and refused items.
  void close();

  std::uint64_t pushes() const noexcept { return pushes_; }
  std::uint64_t deliveries() const noexcept { return deliveries_; }
  std::uint64_t unknown() const noexcept { return unknown_; }  // pushes and deliveries

 private:
  struct entry {
    bool done = false, refused = false;
    int delivered = 0, perhaps = 0;
  };
  entry& of(std::string_view item) { return entries_[std::string{item}]; }

  std::unordered_map<std::string, entry> entries_;
  std::uint64_t lost_ = 0, pushes_ = 0, deliveries_ = 0, unknown_ = 0;
};

}  // namespace conclave::checkers
