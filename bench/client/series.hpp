// One workload, all contestants in turn.
#pragma once

#include <optional>
#include <string>

#include "harness/turns.hpp"
#include "nodes.hpp"
#include "workload.hpp"

namespace conclave::bench {

struct series_plan {
  std::string name;   // unique among the series
  std::string title;  // for people
  kind what{kind::creates};
  std::size_t operations{0};
  std::size_t warm_up{0};  // in each round, before its measured part
  std::size_t window{1};
  std::size_t rounds{0};      // of each contestant
  std::size_t unmeasured{0};  // rounds of each before the first that counts
  std::optional<int> cpu;     // the worker's core
};

struct series {
  series_plan plan;
  outcome result;

  spread of(const std::string& contestant, const std::string& figure) const {
    return result.of(contestant, figure);
  }
  double ratio(const std::string& figure, const std::string& theirs = libzookeeper_name) const {
    return result.ratio(figure, conclave_name, theirs);
  }
};

series run_series(const series_plan& plan, const std::string& servers, nodes& tree,
                  progress_display& progress);

}  // namespace conclave::bench
