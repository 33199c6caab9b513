// bench_queue: our queue beside those of ZooKeeper, Curator and kazoo. See options.cpp for its use.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "contestant.hpp"
#include "contests.hpp"
#include "environment.hpp"
#include "goals.hpp"
#include "harness/json_values.hpp"
#include "options.hpp"
#include "plots.hpp"
#include "table.hpp"

namespace conclave::bench {
namespace {

boost::json::object to_object(const series& s) {
  return {{"name", s.name}, {"title", s.title}, {"contestants", to_json(s.result)}};
}

void write_report(const std::string& file, const environment& where, const results& found,
                  const figures& notes, const std::vector<goal>& goals) {
  boost::json::array all;
  for (const auto& s : found.all) all.push_back(to_object(s));
  boost::json::array remarks;
  for (const auto& r : found.remarks) remarks.emplace_back(r);
  write_json_file(file, {{"benchmark", "queue"},
                         {"environment", to_json(where)},
                         {"series", std::move(all)},
                         {"remarks", std::move(remarks)},
                         {"notes", to_json(notes)},
                         {"goals", to_array(goals)}});
}

results compete(arena& where, const options& wanted) {
  results found;
  progress_display progress;
  warm_up(where, wanted, progress);
  compete_in_flow(where, wanted, found, progress);
  compete_in_draining(where, wanted, found, progress);
  return found;
}

void run_benchmark(const options& wanted) {
  std::filesystem::create_directories(wanted.folder);
  const auto folder = std::filesystem::canonical(wanted.folder);
  ::setenv("TMPDIR", folder.c_str(), 1);  // where the server has its data from now on
  arena where(server_options(wanted),
              wanted.one_core ? std::optional(last_allowed_cpu()) : std::nullopt);
  const auto described = describe(where.server(), wanted);
  print_environment(described);
  std::fflush(stdout);

  const auto found = compete(where, wanted);
  const auto goals = judge(found);
  const auto notes = notes_on(found);
  print_results(found);
  if (!wanted.json.empty()) write_report(wanted.json, described, found, notes, goals);
  std::printf("\n");
  for (const auto& file : draw_plots(found, folder)) std::printf("plot %s\n", file.c_str());
  for (const auto& remark : found.remarks) std::printf("remark %s\n", remark.c_str());
  for (const auto& [name, value] : notes) std::printf("note %s %.3g\n", name.c_str(), value);
  for (const auto& g : goals) std::printf("%s\n", to_line(g).c_str());
}

}  // namespace
}  // namespace conclave::bench

int main(int argc, char** argv) {
  using namespace conclave::bench;
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments == std::vector<std::string>{contestant_option}) {
      run_contestant();
      return 0;
    }
    const auto wanted = parse_options(arguments);
    if (wanted.help)
      std::fputs(usage, stdout);
    else
      run_benchmark(wanted);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_queue: %s\n", e.what());
    return 1;
  }
}
