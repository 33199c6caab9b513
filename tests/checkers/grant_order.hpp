// Checks that tokens increase from grant to grant, so that the order of the wait queue is kept and
// a resource can detect stale tokens. A reader may overtake only other readers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "checker.hpp"

namespace conclave::checkers {

class grant_order : public checker {
 public:
  using checker::checker;
  void granted(std::string_view resource, std::int64_t token, const std::string& who,
               bool shared = false);

 private:
  struct highest {
    std::int64_t of_any = 0;
    std::int64_t of_alone = 0;
  };
  std::map<std::string, highest, std::less<>> seen_;
};

}  // namespace conclave::checkers
