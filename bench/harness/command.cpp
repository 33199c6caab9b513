#include "command.hpp"

#include <filesystem>
#include <stdexcept>

#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"
#include "text_file.hpp"

namespace conclave::bench {

std::string this_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

std::string output_of(const std::vector<std::string>& command, std::chrono::seconds limit) {
  const testing::temporary_directory folder;
  testing::child_options options(command);
  options.output = folder.path() / "output";
  testing::child_process process(options);
  const auto status = process.wait(limit);
  auto text = text_of(options.output);
  if (!status) throw std::runtime_error(command.front() + " did not end in time:\n" + text);
  if (status->code != 0) throw std::runtime_error(command.front() + " failed:\n" + text);
  return text;
}

}  // namespace conclave::bench
