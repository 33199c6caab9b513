// Runs simulated histories: many, or one with a trace.
//
//   conclave_sim --seeds 1000 --first 1              1000 histories of all workloads
//   conclave_sim --workload mutex --replay 42        one history, with a trace
//
// Exit codes: 0 success, 1 violations, 64 invalid command line.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "simulation/histories/history.hpp"
#include "simulation/histories/lock_history.hpp"

namespace {

using namespace conclave::simulated;
using clock_type = std::chrono::steady_clock;

constexpr int usage = 64;
constexpr std::size_t max_failures = 5;

constexpr std::string_view help = R"(usage: conclave_sim [options]
  --workload NAME   run only this workload (default: `all`, in turn)
  --seeds N         number of histories (1000)
  --first K         the first seed (1)
  --replay SEED     run one history and print a trace; requires --workload
  --list FILE       run the histories in FILE, one `WORKLOAD SEED` per line
  --sqlite          use the real store on a simulated disk with faults; slower
  --jobs N          number of processes (1)
  --coverage        print the share of visited (kind, kind, layout, fault) combinations, the
                    combinations not visited, and the share of grants that were not judged
  --expect-violation  exit with 0 if there is a violation; for mutants
)";

struct command_line {
  std::string workload = "all";
  std::uint64_t seeds = 1000, first = 1, jobs = 1;
  std::uint64_t replay = 0;
  bool replays = false, sqlite = false, expects_violation = false, coverage = false;
  std::string list;
};

struct work {
  const workload* what;
  std::uint64_t seed;
};

[[noreturn]] void refuse(const std::string& why) {
  std::cerr << "conclave_sim: " << why << "\n" << help;
  std::exit(usage);
}

command_line parse(const std::vector<std::string>& words) {
  command_line c;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& w = words[i];
    const auto value = [&] {
      if (i + 1 == words.size()) refuse(w + " needs a value");
      return words[++i];
    };
    const auto number = [&] {
      const auto text = value();
      std::size_t end = 0;
      std::uint64_t n = 0;
      try {
        n = std::stoull(text, &end);
      } catch (const std::exception&) {
      }
      if (end == 0 || end != text.size()) refuse(w + " needs a number, not " + text);
      return n;
    };
    if (w == "--workload")
      c.workload = value();
    else if (w == "--seeds")
      c.seeds = number();
    else if (w == "--first")
      c.first = number();
    else if (w == "--jobs")
      c.jobs = std::max<std::uint64_t>(number(), 1);
    else if (w == "--replay")
      c.replay = number(), c.replays = true;
    else if (w == "--list")
      c.list = value();
    else if (w == "--sqlite")
      c.sqlite = true;
    else if (w == "--coverage")
      c.coverage = true;
    else if (w == "--expect-violation")
      c.expects_violation = true;
    else if (w == "--help")
      std::cout << help, std::exit(0);
    else
      refuse("unknown option " + w);
  }
  return c;
}

const workload& named(const std::string& name) {
  std::string known;
  for (const auto& w : workloads()) {
    if (w.name == name) return w;
    known += " " + std::string{w.name};
  }
  refuse("unknown workload " + name + "; known: all" + known);
}

class runner {
 public:
  explicit runner(const command_line& c) : line_{c} {}

  // Returns true if there was no violation.
  bool one(const work& w) {
    std::vector<std::string> wrong;
    try {
      wrong = w.what->run({w.seed, line_.sqlite, {}}, tallies_[w.what->name]);
    } catch (const std::exception& e) {
      wrong.emplace_back(e.what());
    }
    ++done_;
    if (wrong.empty()) return true;
    ++failures_;
    std::ostringstream out;
    out << w.what->name << ", seed " << w.seed << ":\n";
    for (std::size_t i = 0; i < wrong.size() && i < 8; ++i) out << "  " << wrong[i] << "\n";
    out << "replay: conclave_sim --workload " << w.what->name << " --replay " << w.seed
        << (line_.sqlite ? " --sqlite" : "") << "\n";
    std::cerr << out.str();
    return false;
  }

  std::uint64_t done() const noexcept { return done_; }
  std::uint64_t failures() const noexcept { return failures_; }
  std::map<std::string_view, tally>& tallies() { return tallies_; }

 private:
  const command_line& line_;
  std::uint64_t done_ = 0, failures_ = 0;
  std::map<std::string_view, tally> tallies_;
};

// --- worker processes; they report lines: "done N", "failed N", "tally WORKLOAD N WHAT"

class progress {
 public:
  explicit progress(std::uint64_t all) : all_{all}, terminal_{::isatty(STDERR_FILENO) == 1} {}
  void show(std::uint64_t done) {
    const auto now = clock_type::now();
    if (now - shown_ < (terminal_ ? std::chrono::milliseconds{200} : std::chrono::seconds{30}))
      return;
    shown_ = now;
    print(done);
  }
  void end(std::uint64_t done) {
    print(done);
    if (terminal_) std::fputs("\n", stderr);
  }

 private:
  void print(std::uint64_t done) const {
    const std::chrono::duration<double> took = clock_type::now() - began_;
    std::fprintf(stderr, "%s%" PRIu64 " of %" PRIu64 " histories, %.0f a second%s",
                 terminal_ ? "\r\033[K" : "", done, all_,
                 static_cast<double>(done) / std::max(took.count(), 0.001), terminal_ ? "" : "\n");
  }
  std::uint64_t all_;
  bool terminal_;
  clock_type::time_point began_ = clock_type::now(), shown_ = began_;
};

void work_on(const command_line& line, const std::vector<work>& list, std::uint64_t first, int to) {
  runner r{line};
  const auto say = [&](const std::string& text) {
    if (::write(to, text.data(), text.size()) < 0) std::exit(1);
  };
  std::uint64_t reported = 0;
  const auto report_progress = [&] {
    say("done " + std::to_string(r.done() - reported) + "\n");
    reported = r.done();
  };
  auto next = clock_type::now();
  for (auto i = first;
       i < list.size() && r.failures() < (line.expects_violation ? 1 : max_failures);
       i += line.jobs) {
    r.one(list[i]);
    if (const auto now = clock_type::now(); now >= next) {
      next = now + std::chrono::milliseconds{100};
      report_progress();
    }
  }
  report_progress();
  std::string all = "failed " + std::to_string(r.failures()) + "\n";
  for (const auto& [workload, t] : r.tallies())
    for (const auto& [what, n] : t)
      all += "tally " + std::string{workload} + " " + std::to_string(n) + " " + what + "\n";
  say(all);
}

struct outcome {
  std::uint64_t done = 0, failures = 0;
  bool crashed = false;
  std::map<std::string, tally> tallies;
};

outcome run_all(const command_line& line, const std::vector<work>& list) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) refuse(std::strerror(errno));
  std::vector<pid_t> workers;
  for (std::uint64_t i = 0; i < line.jobs; ++i) {
    const auto pid = ::fork();
    if (pid == 0) {
      ::close(pipe[0]);
      work_on(line, list, i, pipe[1]);
      std::exit(0);
    }
    workers.push_back(pid);
  }
  ::close(pipe[1]);
  outcome all;
  progress shown{list.size()};
  auto* const in = ::fdopen(pipe[0], "r");
  char* text = nullptr;
  std::size_t room = 0;
  while (::getline(&text, &room, in) > 0) {
    std::istringstream words{text};
    std::string kind, workload, what;
    std::uint64_t n = 0;
    words >> kind;
    if (kind == "tally") words >> workload;
    words >> n >> std::ws;
    std::getline(words, what);
    if (kind == "done") shown.show(all.done += n);
    if (kind == "failed") all.failures += n;
    if (kind == "tally") all.tallies[workload][what] += n;
  }
  std::free(text);
  std::fclose(in);
  shown.end(all.done);
  for (const auto pid : workers) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    all.crashed = all.crashed || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  }
  return all;
}

std::vector<work> list_of(const command_line& line) {
  std::vector<work> list;
  if (!line.list.empty()) {
    std::ifstream in{line.list};
    if (!in) refuse("cannot read " + line.list);
    for (std::string text; std::getline(in, text);) {
      std::istringstream words{text.substr(0, text.find('#'))};
      std::string name;
      std::uint64_t seed = 0;
      if (words >> name >> seed) list.push_back({&named(name), seed});
    }
    return list;
  }
  for (std::uint64_t i = 0; i < line.seeds; ++i) {
    const auto& all = workloads();
    const auto& what = line.workload == "all" ? all[i % all.size()] : named(line.workload);
    list.push_back({&what, line.first + (line.workload == "all" ? i / all.size() : i)});
  }
  return list;
}

int replay(const command_line& line) {
  tally t;
  const auto trace = [](instant at, const std::string& text) {
    std::printf("%10.3f ms  %s\n", std::chrono::duration<double, std::milli>(at).count(),
                text.c_str());
  };
  const auto wrong = named(line.workload).run({line.replay, line.sqlite, trace}, t);
  for (const auto& w : wrong) std::printf("WRONG: %s\n", w.c_str());
  std::printf("%zu violations\n", wrong.size());
  return wrong.empty() ? 0 : 1;
}

// Reports expected events that never happened. A small number of histories cannot contain all.
bool something_is_missing(const outcome& o) {
  constexpr std::uint64_t enough = 500;
  bool missing = false;
  for (const auto& w : workloads()) {
    const auto t = o.tallies.find(std::string{w.name});
    if (t == o.tallies.end() || t->second.at("histories") < enough) continue;
    for (const auto what : w.expected) {
      const auto n = t->second.find(what);
      if (n != t->second.end() && n->second > 0) continue;
      std::cerr << w.name << ": never happened: " << what << "\n";
      missing = true;
    }
  }
  return missing;
}

void print_coverage(const outcome& o) {
  std::uint64_t grants = 0, excused = 0;
  const auto count = [](const tally& t, std::string_view what) {
    const auto n = t.find(what);
    return n == t.end() ? 0 : n->second;
  };
  for (const auto& [workload, t] : o.tallies) {
    grants += count(t, "grants");
    excused += count(t, "grants not judged");
  }
  const auto all = lock_combinations();
  std::vector<std::string> missing;
  const auto t = o.tallies.find("together");
  for (const auto& each : all)
    if (t == o.tallies.end() || count(t->second, each) == 0) missing.push_back(each);
  const auto share = [](std::size_t part, std::size_t of) {
    return of == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(of);
  };
  for (const auto& each : missing)
    std::printf("not visited: %s\n", each.substr(combination_prefix.size()).c_str());
  std::printf("visited %zu of %zu combinations of kind, kind, layout and fault (%.1f %%)\n",
              all.size() - missing.size(), all.size(),
              share(all.size() - missing.size(), all.size()));
  std::printf("%" PRIu64 " of %" PRIu64 " grants were not judged (%.2f %%)\n", excused, grants,
              share(excused, grants));
}

}  // namespace

int main(int argc, char** argv) {
  const auto line = parse({argv + 1, argv + argc});
  if (line.replays) return replay(line);
  const auto all = run_all(line, list_of(line));
  for (const auto& [workload, t] : all.tallies) {
    std::printf("%s:", workload.c_str());
    const char* between = " ";
    for (const auto& [what, n] : t)
      if (!what.starts_with(combination_prefix))
        std::printf("%s%" PRIu64 " %s", std::exchange(between, ", "), n, what.c_str());
    std::printf("\n");
  }
  if (line.coverage) print_coverage(all);
  if (all.crashed) std::fprintf(stderr, "conclave_sim: a worker process crashed\n");
  const bool violated = all.failures > 0 || all.crashed;
  if (line.expects_violation) {
    std::printf(
        violated ? "found after %" PRIu64 " histories\n" : "not found in %" PRIu64 " histories\n",
        all.done);
    return violated ? 0 : 1;
  }
  return violated || something_is_missing(all) ? 1 : 0;
}
