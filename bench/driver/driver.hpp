// The driver of all benchmarks: command line, alternating rounds, progress, report.
//
// A benchmark is a class that defines its options, its environment, its variants and workloads (as
// series of rounds), and its goals. Its main() calls benchmark_main().
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <boost/json/fwd.hpp>

#include "driver/report.hpp"
#include "driver/results.hpp"

namespace conclave::bench {

// The options of all benchmarks. The constructor of a benchmark may set other defaults.
struct common_options {
  std::string json;                   // the file to write; empty: none
  std::filesystem::path folder{"."};  // for the plots and the temporary folders of the servers
  std::string only;                   // the prefix of the series to run; empty: all series
  std::size_t rounds{5};              // of each variant in each series
};

// One option of the command line.
struct option {
  std::string name;      // including its dashes
  std::string argument;  // the name of its value; empty: the option has no value
  std::string help;      // one or several lines
  std::function<void(const std::string& value)> apply;
};

struct description {
  std::string name;          // the program is called bench_NAME
  std::string summary;       // the lines for --help
  std::string quick;         // describes --quick
  std::string series_names;  // the names for --only
};

// Shows progress on standard error: on a terminal one line that changes, otherwise a line per step.
class progress_display {
 public:
  progress_display();
  ~progress_display();
  progress_display(const progress_display&) = delete;
  progress_display& operator=(const progress_display&) = delete;

  void begin_step(const std::string& name, std::size_t rounds);
  void round_done(const std::string& variant);

 private:
  void show(const std::string& text) const;

  bool is_terminal_;
  std::string name_;
  std::size_t rounds_{0};
  std::size_t done_{0};
};

// The name of a variant and a function that runs one round of it.
struct round_source {
  std::string variant;
  std::function<figures()> run_round;
};

struct round_counts {
  std::size_t measured{1};
  std::size_t unmeasured{0};  // rounds before the first measured one
};

// Runs rounds and collects their results.
class round_runner {
 public:
  round_runner(const common_options& options, results& found) : options_(options), found_(found) {}

  bool is_wanted(const std::string& series_name) const {
    return series_name.starts_with(options_.only);
  }
  results& found() { return found_; }
  progress_display& progress() { return progress_; }

  // Runs the rounds of each variant. Every round begins with a different variant, so that a drift
  // of the machine affects all variants equally.
  rounds_by_variant alternate(const std::string& title, round_counts counts,
                              std::vector<round_source> sources);
  // The same. Also adds the rounds to the results as a series.
  void add_series(const std::string& name, const std::string& title, round_counts counts,
                  std::vector<round_source> sources);

 private:
  const common_options& options_;
  results& found_;
  progress_display progress_;
};

class benchmark {
 public:
  benchmark() = default;
  benchmark(const benchmark&) = delete;
  benchmark& operator=(const benchmark&) = delete;
  virtual ~benchmark() = default;

  virtual description about() const = 0;
  virtual std::vector<option> extra_options() { return {}; }
  virtual void use_quick_rounds() = 0;  // --quick

  // Starts the servers and workers that all rounds need. `options.folder` already exists, and
  // temporary folders are created in it.
  virtual environment prepare() = 0;
  virtual void run(round_runner& runner) = 0;

  virtual void print_tables(const results& found) const = 0;
  virtual void add_goals(const results& found, goal_list& goals) const = 0;
  virtual void add_notes(const results&, note_list&) const {}
  virtual std::vector<plot> plots(const results&) const { return {}; }
  // Values that only this benchmark adds to the JSON file.
  virtual void extend_json(const results&, boost::json::object&) const {}

  common_options options;
};

// The body of main(). If the command line begins with worker_option, this process is a worker. It
// calls run_worker with the remaining arguments.
using worker_function = void (*)(std::span<const std::string> arguments);
int benchmark_main(int argc, char** argv, worker_function run_worker,
                   const std::function<std::unique_ptr<benchmark>()>& make);

}  // namespace conclave::bench
