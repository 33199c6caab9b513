// The libraries that we are compared with, as Debian has them.
#pragma once

#include <string>
#include <vector>

namespace conclave::bench {

// A Java program on this class path, quiet.
std::vector<std::string> java_command(const std::string& java, const std::string& class_path,
                                      const std::string& main_class, const std::string& argument);

std::string version_of_jar(const std::string& jar);
std::string version_of_kazoo();

}  // namespace conclave::bench
