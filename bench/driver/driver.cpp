#include "driver/driver.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <utility>

#include "driver/json.hpp"
#include "driver/process.hpp"

namespace conclave::bench {
namespace {

std::size_t to_rounds(const std::string& text) {
  std::size_t value = 0;
  const auto* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < 1 || value > 100)
    throw std::runtime_error("--rounds must be a number from 1 to 100, not '" + text + "'");
  return value;
}

std::vector<option> options_of(benchmark& b) {
  const auto about = b.about();
  auto& o = b.options;
  std::vector<option> all{
      {"--json", "FILE", "write all rounds, medians and ranges to FILE",
       [&o](const std::string& value) { o.json = value; }},
      {"--folder", "DIR",
       "write plots to DIR, and the data of servers to a temporary folder in DIR\n(default: " +
           o.folder.string() + ")",
       [&o](const std::string& value) { o.folder = value; }},
      {"--rounds", "N",
       "measured rounds of each variant in each series, 1 to 100 (default " +
           std::to_string(o.rounds) + ")",
       [&o](const std::string& value) { o.rounds = to_rounds(value); }},
      {"--quick", "", about.quick + ", to check that the benchmark works",
       [&b](const std::string&) { b.use_quick_rounds(); }},
      {"--only", "SERIES", "only the series whose names begin with SERIES: " + about.series_names,
       [&o](const std::string& value) { o.only = value; }},
  };
  for (auto& extra : b.extra_options()) all.push_back(std::move(extra));
  return all;
}

void print_help(const description& about, const std::vector<option>& options) {
  std::printf("usage: bench_%s [OPTION]...\n\n%s\n\n", about.name.c_str(), about.summary.c_str());
  constexpr std::size_t width = 18;
  for (const auto& o : options) {
    auto left = o.argument.empty() ? o.name : o.name + ' ' + o.argument;
    if (left.size() >= width) {
      std::printf("  %s\n", left.c_str());
      left.clear();
    }
    for (std::size_t begin = 0; begin <= o.help.size();) {
      const auto end = std::min(o.help.find('\n', begin), o.help.size());
      std::printf("  %s%s\n", padded(left, width).c_str(),
                  o.help.substr(begin, end - begin).c_str());
      left.clear();
      begin = end + 1;
    }
  }
}

// Returns false if the command line contains --help.
bool apply_options(std::span<const std::string> arguments, const std::vector<option>& options) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& name = arguments[i];
    if (name == "--help" || name == "-h") return false;
    const auto found = std::find_if(options.begin(), options.end(),
                                    [&name](const option& o) { return o.name == name; });
    if (found == options.end())
      throw std::runtime_error("unknown argument '" + name + "'; try --help");
    if (found->argument.empty()) {
      found->apply({});
      continue;
    }
    if (++i == arguments.size()) throw std::runtime_error(name + " needs a value");
    found->apply(arguments[i]);
  }
  return true;
}

void run(benchmark& b) {
  auto& folder = b.options.folder;
  std::filesystem::create_directories(folder);
  folder = std::filesystem::canonical(folder);
  ::setenv("TMPDIR", folder.c_str(), 1);  // servers store their data in this folder from now on
  const auto where = b.prepare();
  print_environment(where);
  std::fflush(stdout);

  results found;
  {
    round_runner runner(b.options, found);
    b.run(runner);
  }
  goal_list goals;
  b.add_goals(found, goals);
  note_list notes;
  b.add_notes(found, notes);

  b.print_tables(found);
  if (!b.options.json.empty()) {
    auto report = to_json(b.about().name, where, found, notes.all(), goals.all());
    b.extend_json(found, report);
    write_json_file(b.options.json, report);
  }
  std::printf("\n");
  for (const auto& file : draw(b.plots(found), folder)) std::printf("plot %s\n", file.c_str());
  for (const auto& remark : found.remarks) std::printf("remark %s\n", remark.c_str());
  for (const auto& [name, value] : notes.all()) std::printf("note %s %.3g\n", name.c_str(), value);
  for (const auto& g : goals.all()) print_goal(g);
}

}  // namespace

progress_display::progress_display() : is_terminal_(::isatty(STDERR_FILENO) == 1) {}

progress_display::~progress_display() {
  if (is_terminal_) show("");
}

void progress_display::begin_step(const std::string& name, std::size_t rounds) {
  name_ = name;
  rounds_ = rounds;
  done_ = 0;
  if (is_terminal_)
    show(name_);
  else
    std::fprintf(stderr, "... %s\n", name_.c_str());
}

void progress_display::round_done(const std::string& variant) {
  ++done_;
  if (!is_terminal_) return;
  constexpr std::size_t width = 24;
  const auto filled = rounds_ == 0 ? width : done_ * width / rounds_;
  show('[' + std::string(filled, '#') + std::string(width - filled, '.') + "] " + name_ + ": " +
       std::to_string(done_) + " of " + std::to_string(rounds_) + " rounds (" + variant + ')');
}

void progress_display::show(const std::string& text) const {
  constexpr const char* clear_line = "\r\033[K";
  std::fprintf(stderr, "%s%s", clear_line, text.c_str());
  std::fflush(stderr);
}

rounds_by_variant round_runner::alternate(const std::string& title, round_counts counts,
                                          std::vector<round_source> sources) {
  rounds_by_variant result;
  const auto all = counts.unmeasured + counts.measured;
  progress_.begin_step(title, sources.size() * all);
  for (std::size_t round = 0; round < all; ++round) {
    for (const auto& source : sources) {
      auto found = source.run_round();
      if (round >= counts.unmeasured) result[source.variant].push_back(std::move(found));
      progress_.round_done(source.variant);
    }
    if (!sources.empty()) std::rotate(sources.begin(), sources.begin() + 1, sources.end());
  }
  return result;
}

void round_runner::add_series(const std::string& name, const std::string& title,
                              round_counts counts, std::vector<round_source> sources) {
  series s{name, title, {}, {}};
  for (const auto& source : sources) s.variants.push_back(source.variant);
  s.rounds = alternate(title, counts, std::move(sources));
  found_.all.push_back(std::move(s));
}

int benchmark_main(int argc, char** argv, worker_function run_worker,
                   const std::function<std::unique_ptr<benchmark>()>& make) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  std::string program = std::filesystem::path(argv[0]).filename().string();
  try {
    if (!arguments.empty() && arguments.front() == worker_option) {
      run_worker(std::span(arguments).subspan(1));
      return 0;
    }
    const auto b = make();
    const auto options = options_of(*b);
    if (apply_options(arguments, options))
      run(*b);
    else
      print_help(b->about(), options);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), e.what());
    return 1;
  }
}

}  // namespace conclave::bench
