#include "goals.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace conclave::bench {
namespace {

const series& named(const std::vector<series>& all, const char* name) {
  for (const auto& s : all)
    if (s.plan.name == name) return s;
  throw std::logic_error(std::string("no series ") + name);
}

}  // namespace

std::vector<goal> judge(const std::vector<series>& all) {
  const auto& creates = named(all, series_name::creates);
  const auto& gets = named(all, series_name::gets);
  const auto& blocking = named(all, series_name::one_core);
  const auto cpu = [&](const char* theirs) {
    return std::max(creates.ratio(figure::cpu_us_per_operation, theirs),
                    gets.ratio(figure::cpu_us_per_operation, theirs));
  };
  const auto& creates_one_core = named(all, series_name::creates_one_core);
  const auto rate = [&](const series& s, const char* theirs) {
    return s.ratio(figure::operations_per_second, theirs);
  };
  const auto latency = [&](const char* theirs) {
    return blocking.ratio(figure::latency_us, theirs);
  };
  const char* const plain = libzookeeper_name;
  const char* const tuned = tuned_libzookeeper_name;
  return {{"client-cpu-ratio", cpu(plain), cpu(tuned), false, 0.2},
          {"pipelined-creates-ratio", rate(creates, plain), rate(creates, tuned), true, 2},
          {"pipelined-creates-one-core-ratio", rate(creates_one_core, plain),
           rate(creates_one_core, tuned), true, 2},
          {"blocking-get-latency-ratio", latency(plain), latency(tuned), false, 0.7}};
}

std::string to_line(const goal& g) {
  char text[160];
  std::snprintf(text, sizeof text, "goal %s measured %.3g want %s %g %s", g.name.c_str(),
                g.measured, g.at_least ? ">=" : "<=", g.wanted, g.met() ? "met" : "missed");
  return text;
}

std::string to_note(const goal& g) {
  char text[160];
  std::snprintf(text, sizeof text, "note %s against %s %.3g", g.name.c_str(),
                tuned_libzookeeper_name, g.measured_to_tuned);
  return text;
}

}  // namespace conclave::bench
