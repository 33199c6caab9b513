// Checks that holds exclude each other. A hold lasts from the reported grant until the holder
// releases it, is notified of its loss, or passes its own deadline, whichever comes first.
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
  std::size_t permits = 1;  // the number of permits of the resource
  bool shared = false;      // together with any number of other shared holds
};

class exclusion : public checker {
 public:
  using id = std::uint64_t;
  // Returns whether a hold is still valid by its holder's clock. If empty, a hold is valid until
  // ended().
  using validity = std::function<bool(id)>;

  explicit exclusion(violation_callback l, validity v = {})
      : checker{std::move(l)}, valid_{std::move(v)} {}

  void granted(std::string_view resource, id which, hold h);
  // No effect if the hold was not granted or has ended.
  void ended(id which);
  // The hold is shared from now on.
  void becomes_shared(id which);
  // The hold was exclusive all the time: a downgrade failed.
  void becomes_exclusive(id which);

  // The largest number of simultaneous holds.
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
