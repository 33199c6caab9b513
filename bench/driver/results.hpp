// The results of a benchmark: the figures of rounds, medians and ranges, goals.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace conclave::bench {

// The numbers that one round measured, by name.
using figures = std::map<std::string, double>;

namespace figure {
inline constexpr const char* operations_per_second = "operations_per_second";
inline constexpr const char* cpu_us_per_operation = "cpu_us_per_operation";  // user and system
inline constexpr const char* latency_us = "latency_us";                      // the round's median
inline constexpr const char* latency_p99_us = "latency_p99_us";
}  // namespace figure

// Interpolates between values in ascending order. Returns 0 if there are no values.
double quantile(std::span<const double> sorted, double q);

struct spread {
  double median{0};
  double smallest{0};
  double largest{0};
  double lower_quartile{0};
  double upper_quartile{0};
};
spread spread_of(std::vector<double> values);

using rounds_by_variant = std::map<std::string, std::vector<figures>>;

// One workload, and the measured rounds of all variants that ran it. A variant is a library or a
// server, and a way to use it.
struct series {
  std::string name;                   // unique
  std::string title;                  // for the report
  std::vector<std::string> variants;  // in the order of the table
  rounds_by_variant rounds;

  bool has(const std::string& variant) const { return rounds.contains(variant); }
  spread of(const std::string& variant, const std::string& figure) const;
  // The median of `ours` divided by the median of `theirs`.
  double ratio(const std::string& figure, const std::string& ours, const std::string& theirs) const;
};

struct results {
  std::vector<series> all;
  std::vector<std::string> remarks;  // which variants were stopped or omitted, and why

  // Returns null if the series was not measured.
  const series* find(const std::string& series_name) const;
  // Return nothing if the series or one of the variants was not measured.
  std::optional<double> median(const std::string& series_name, const std::string& variant,
                               const std::string& figure) const;
  std::optional<double> ratio(const std::string& series_name, const std::string& figure,
                              const std::string& ours, const std::string& theirs) const;
};

enum class comparison { at_least, at_most };

// A limit that a figure must reach.
struct goal {
  std::string name;
  double measured{0};
  comparison direction{comparison::at_least};
  double limit{0};

  bool met() const {
    return direction == comparison::at_least ? measured >= limit : measured <= limit;
  }
};

// The goals whose series were measured.
class goal_list {
 public:
  void add(const std::string& name, std::optional<double> measured, comparison direction,
           double limit) {
    if (measured) all_.push_back({name, *measured, direction, limit});
  }
  const std::vector<goal>& all() const { return all_; }

 private:
  std::vector<goal> all_;
};

// Further ratios by name, of the series that were measured.
class note_list {
 public:
  void add(const std::string& name, std::optional<double> value) {
    if (value) all_[name] = *value;
  }
  const figures& all() const { return all_; }

 private:
  figures all_;
};

}  // namespace conclave::bench
