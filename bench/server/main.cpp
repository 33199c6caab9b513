// bench_server: our server beside Apache ZooKeeper and Redis. See options.cpp for its use.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include <conclave/version.hpp>

#include "apache.hpp"
#include "assignment.hpp"
#include "contests.hpp"
#include "disk.hpp"
#include "goals.hpp"
#include "harness/json_values.hpp"
#include "options.hpp"
#include "redis_server.hpp"
#include "table.hpp"
#include "time_window.hpp"
#include "worker.hpp"

namespace conclave::bench {
namespace {

// A thousand sessions need more descriptors than the usual soft limit has. Servers inherit this.
void allow_many_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::string joined(const std::vector<std::string>& words) {
  std::string result;
  for (const auto& word : words) result += (result.empty() ? "" : " ") + word;
  return result;
}

environment describe(const options& wanted, const std::string& file_system) {
  const auto theirs = apache_options();
  const testing::zookeeper_server server(theirs);
  return {
      {"conclave", std::string(version) + ": " + joined(wanted.ours)},
      {"apache", version_of(server) + ' ' + joined(theirs.jvm_flags) + ", forceSync=yes"},
      {"redis", redis_server::version() + ", no persistence"},
      {"client", std::string("conclave ") + version + " for both ZooKeeper servers, loopback TCP"},
      {"data", file_system},
      {"machine", machine()},
      {"compiler", compiler()},
      {"started", started_now()},
      {"figures", "medians of the rounds (smallest–largest); each round is a process of its own"},
      {"others", "CPU that neither client nor server used: much of it means a disturbed run"},
  };
}

boost::json::object to_object(const series& s) {
  return {{"name", s.name}, {"title", s.title}, {"contestants", to_json(s.result)}};
}

void write_report(const std::string& file, const environment& where, const std::vector<series>& all,
                  const figures& notes, const std::vector<goal>& goals) {
  boost::json::array series_array;
  for (const auto& s : all) series_array.push_back(to_object(s));
  write_json_file(file, {{"benchmark", "server"},
                         {"environment", to_json(where)},
                         {"series", std::move(series_array)},
                         {"notes", to_json(notes)},
                         {"goals", to_array(goals)}});
}

double disturbed_rounds(const std::vector<series>& all) {
  double count = 0;
  for (const auto& s : all)
    for (const auto& [who, rounds] : s.result.rounds)
      count += static_cast<double>(std::count_if(rounds.begin(), rounds.end(), is_disturbed));
  return count;
}

std::vector<series> compete(const options& wanted, const std::filesystem::path& sockets) {
  progress_display progress;
  auto all = compete_under_load(wanted, sockets, progress);
  const auto append = [&all](std::vector<series> more) {
    all.insert(all.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  };
  append(compete_from_start(wanted, progress));
  append(compete_with_redis(wanted, sockets, progress));
  return all;
}

void run_benchmark(const options& wanted) {
  allow_many_descriptors();
  const testing::temporary_directory sockets;  // in /tmp: the path of a socket has to be short
  std::filesystem::create_directories(wanted.folder);
  const auto folder = std::filesystem::canonical(wanted.folder);
  const auto file_system = file_system_of(folder);
  ::setenv("TMPDIR", folder.c_str(), 1);  // where all servers have their data from now on
  const auto where = describe(wanted, file_system);
  print_environment(where);
  std::fflush(stdout);

  figures notes{{"disk-flush-us-before", flush_us(folder)}};
  const auto all = compete(wanted, sockets.path());
  notes["disk-flush-us-after"] = flush_us(folder);
  notes["disturbed-rounds"] = disturbed_rounds(all);
  for (const auto& [name, value] : notes_on(all)) notes[name] = value;
  const auto goals = judge(all);
  for (const auto& s : all) print_series(s);
  if (!wanted.json.empty()) write_report(wanted.json, where, all, notes, goals);
  std::printf("\n");
  for (const auto& [name, value] : notes) std::printf("note %s %.3g\n", name.c_str(), value);
  for (const auto& g : goals) std::printf("%s\n", to_line(g).c_str());
}

}  // namespace
}  // namespace conclave::bench

int main(int argc, char** argv) {
  using namespace conclave::bench;
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (!arguments.empty() && arguments.front() == worker_option) {
      run_worker(from_arguments(arguments));
      return 0;
    }
    const auto wanted = parse_options(arguments);
    if (wanted.help)
      std::fputs(usage, stdout);
    else
      run_benchmark(wanted);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_server: %s\n", e.what());
    return 1;
  }
}
