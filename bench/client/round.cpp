#include "round.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::bench {
namespace {

// More than a worker's own limits together: then it can still say itself what went wrong.
constexpr auto process_limit = 4 * time_limit;

std::string this_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

}  // namespace

std::string output_of(const std::vector<std::string>& command) {
  const testing::temporary_directory folder;
  testing::child_options options(command);
  options.output = folder.path() / "output";
  testing::child_process process(options);
  const auto status = process.wait(process_limit);
  std::ostringstream text;
  text << std::ifstream(options.output).rdbuf();
  if (!status) throw std::runtime_error(command.front() + " did not end in time:\n" + text.str());
  if (status->code != 0) throw std::runtime_error(command.front() + " failed:\n" + text.str());
  return text.str();
}

std::string run_worker_process(const assignment& a, std::vector<std::string> under) {
  auto command = std::move(under);
  command.push_back(this_program());
  const auto arguments = to_arguments(a);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return output_of(command);
}

figures measure(const assignment& a) { return figures_in(run_worker_process(a)); }

}  // namespace conclave::bench
