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

std::vector<client_goal> judge(const std::vector<series>& all) {
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
  const auto least = wanted::at_least;
  const auto most = wanted::at_most;
  return {{{"client-cpu-ratio", cpu(plain), most, 0.2}, cpu(tuned)},
          {{"pipelined-creates-ratio", rate(creates, plain), least, 2}, rate(creates, tuned)},
          {{"pipelined-creates-one-core-ratio", rate(creates_one_core, plain), least, 2},
           rate(creates_one_core, tuned)},
          {{"blocking-get-latency-ratio", latency(plain), most, 0.7}, latency(tuned)}};
}

std::string to_note(const client_goal& g) {
  char text[160];
  std::snprintf(text, sizeof text, "note %s against %s %.3g", g.to_plain.name.c_str(),
                tuned_libzookeeper_name, g.measured_to_tuned);
  return text;
}

}  // namespace conclave::bench
