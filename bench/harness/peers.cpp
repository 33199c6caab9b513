#include "harness/peers.hpp"

#include <chrono>
#include <filesystem>

#include "harness/command.hpp"

namespace conclave::bench {

std::vector<std::string> java_command(const std::string& java, const std::string& class_path,
                                      const std::string& main_class, const std::string& argument) {
  return {java,
          "-Xmx512m",
          "-XX:-UsePerfData",
          "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",  // they complain of sessions that end
          "-cp",
          class_path,
          main_class,
          argument};
}

// Debian has each jar under two names, one of them with the version in it.
std::string version_of_jar(const std::string& jar) {
  const auto beginning = jar + '-';
  for (const auto& file : std::filesystem::directory_iterator("/usr/share/java")) {
    const auto name = file.path().stem().string();
    if (name.starts_with(beginning)) return name.substr(beginning.size());
  }
  return "of unknown version";
}

std::string version_of_kazoo() {
  return output_of({"/usr/bin/python3", "-c", "import kazoo; print(kazoo.__version__, end='')"},
                   std::chrono::seconds{20});
}

}  // namespace conclave::bench
