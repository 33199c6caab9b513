// The driver of all benchmarks: command line, alternating rounds, progress, report.
//
// A benchmark is a class that declares what differs: its options, its environment, its variants and
// workloads (as series of rounds), its goals. Its main() calls benchmark_main().
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

// What every benchmark has. A benchmark's constructor sets other defaults.
struct common_options {
  std::string json;                   // a file to write; empty: none
  std::filesystem::path folder{"."};  // of the plots, and of temporary folders with servers' data
  std::string only;                   // series whose names begin with it; empty: all
  std::size_t rounds{5};              // of each variant in each series
};

// One option of the command line.
struct option {
  std::string name;      // with its dashes
  std::string argument;  // the name of its value; empty: it has none
  std::string help;      // one or several lines
  std::function<void(const std::string& value)> apply;
};

struct description {
  std::string name;          // the program is called bench_NAME
  std::string summary;       // lines for --help
  std::string quick;         // what --quick leaves out
  std::string series_names;  // what --only may name
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

// A variant's name and how to run one round of it.
struct round_source {
  std::string variant;
  std::function<figures()> run_round;
};

struct round_counts {
  std::size_t measured{1};
  std::size_t unmeasured{0};  // before the first that is measured
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

  // So many rounds of each. The variant that begins changes from round to round, so that a drift of
  // the machine affects all of them alike.
  rounds_by_variant alternate(const std::string& title, round_counts counts,
                              std::vector<round_source> sources);
  // The same, and adds them to the results as a series.
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

  // Starts what all rounds need. `options.folder` exists by then, and is where temporary folders
  // go.
  virtual environment prepare() = 0;
  virtual void run(round_runner& runner) = 0;

  virtual void print_tables(const results& found) const = 0;
  virtual void add_goals(const results& found, goal_list& goals) const = 0;
  virtual void add_notes(const results&, note_list&) const {}
  virtual std::vector<plot> plots(const results&) const { return {}; }
  // What this benchmark alone has in its JSON file.
  virtual void extend_json(const results&, boost::json::object&) const {}

  common_options options;
};

// The body of main(). A command line that begins with worker_option starts a worker: it calls
// run_worker with the arguments that follow.
using worker_function = void (*)(std::span<const std::string> arguments);
int benchmark_main(int argc, char** argv, worker_function run_worker,
                   const std::function<std::unique_ptr<benchmark>()>& make);

}  // namespace conclave::bench
