// What was pushed is what was delivered, each item once. What a lost answer leaves open is allowed
// for, and counted: a history in which everything is open shows nothing.
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
  enum class fate { done, refused, unclear };

  void pushed(std::string_view item, fate f);
  void delivered(std::string_view item);
  // It was with a consumer that does not know whether it completed it.
  void perhaps_delivered(std::string_view item);
  // A consumer popped something, and does not know what.
  void lost_in_delivery() { ++lost_; }

  // When all is over, and nothing is in the queue.
  void close();

  std::uint64_t pushes() const noexcept { return pushes_; }
  std::uint64_t deliveries() const noexcept { return deliveries_; }
  std::uint64_t unclear() const noexcept { return unclear_; }  // pushes and deliveries

 private:
  struct entry {
    bool done = false, refused = false;
    int delivered = 0, perhaps = 0;
  };
  entry& of(std::string_view item) { return entries_[std::string{item}]; }

  std::unordered_map<std::string, entry> entries_;
  std::uint64_t lost_ = 0, pushes_ = 0, deliveries_ = 0, unclear_ = 0;
};

}  // namespace conclave::checkers
