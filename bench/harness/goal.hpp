// A figure that is meant to be reached, and whether it was.
#pragma once

#include <string>

namespace conclave::bench {

enum class wanted { at_least, at_most };

struct goal {
  std::string name;
  double measured{0};
  wanted direction{wanted::at_least};
  double limit{0};

  bool met() const { return direction == wanted::at_least ? measured >= limit : measured <= limit; }
  const char* comparison() const { return direction == wanted::at_least ? ">=" : "<="; }
};

// "goal NAME measured VALUE want <= LIMIT met"
std::string to_line(const goal& g);

}  // namespace conclave::bench
