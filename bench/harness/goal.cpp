#include "goal.hpp"

#include <cstdio>

namespace conclave::bench {

std::string to_line(const goal& g) {
  char text[160];
  std::snprintf(text, sizeof text, "goal %s measured %.3g want %s %g %s", g.name.c_str(),
                g.measured, g.comparison(), g.limit, g.met() ? "met" : "missed");
  return text;
}

}  // namespace conclave::bench
