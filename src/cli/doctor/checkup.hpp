// The findings of `conclave doctor`. Each finding has a mark, a line of text, and advice.
#pragma once

#include <string>
#include <vector>

#include "cli/show/json.hpp"

namespace conclave::cli {

enum class mark { ok, skipped, warning, failed };

struct finding {
  mark how = mark::ok;
  std::string name;     // what was checked, in one word
  std::string text;     // the result
  std::string advice;   // what the user should do; may be empty
  json::object values;  // the result for programs
};

class checkup {
 public:
  // Prints each finding immediately. If `as_json` is true, prints all findings as JSON at the end
  // instead.
  explicit checkup(bool as_json) : json_{as_json} {}

  void add(finding f);
  // Prints the summary line, or all findings as JSON if `as_json` was true. Returns the exit code.
  int end(bool reached) const;

 private:
  std::size_t count(mark m) const;

  const bool json_;
  std::vector<finding> findings_;
};

}  // namespace conclave::cli
