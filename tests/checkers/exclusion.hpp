// No more hold something at a time than may. A hold lasts from when its holder was told until it
// gives it back, is told that it is lost, or its own clock says so, whichever comes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checker.hpp"

namespace conclave::checkers {

struct hold {
  std::string who;
  std::size_t permits = 1;  // so many may hold it at a time
  bool shared = false;      // with others that share it, however many they are
};

class exclusion : public checker {
 public:
  using id = std::uint64_t;
  // Whether a hold that was not ended is one by its holder's clock; without it, it is.
  using validity = std::function<bool(id)>;

  explicit exclusion(listener l, validity v = {}) : checker{std::move(l)}, valid_{std::move(v)} {}

  void granted(std::string_view resource, id which, hold h);
  // What was not granted, or has ended already, is no matter.
  void ended(id which);
  // From now on it is one of those that share.
  void shares(id which);
  // It does not, after all, and never did.
  void is_alone(id which);

  // The most that have held it at a time.
  std::size_t most(std::string_view resource) const;

 private:
  struct place {
    std::map<id, hold> holds;
    std::size_t most = 0;
  };
  validity valid_;
  std::map<std::string, place, std::less<>> places_;
  std::unordered_map<id, std::vector<place*>> where_;
};

}  // namespace conclave::checkers
