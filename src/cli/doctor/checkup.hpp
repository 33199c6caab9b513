// The list of what was looked at: a mark, one line, and what to do.
#pragma once

#include <string>
#include <vector>

#include "cli/show/json.hpp"

namespace conclave::cli {

enum class mark { ok, skipped, warning, failed };

struct finding {
  mark how = mark::ok;
  std::string name;     // what was looked at: one word
  std::string text;     // what was found
  std::string advice;   // what to do; empty if there is nothing
  json::object values;  // the same for programs
};

class checkup {
 public:
  // Printed as they come, unless it is for programs.
  explicit checkup(bool as_json) : json_{as_json} {}

  void add(finding f);
  // A last line, or all of it as JSON; the exit code.
  int end(bool reached) const;

 private:
  std::size_t count(mark m) const;

  const bool json_;
  std::vector<finding> findings_;
};

}  // namespace conclave::cli
